// Items from where they lie to other places: for views that a kernel does not take.
//
// Floor: memory, every byte read and written once.
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// in: at most eight bytes, at addresses that suit words W
template <class W>
RF_FN void copy_words(const u8* from, u8* to, u32 bytes) {
    RF_UNROLL
    for (u32 i = 0; i < 8 / sizeof(W); i++)
        if (i * sizeof(W) < bytes) ((W*)to)[i] = ((const W*)from)[i];
}

// An item has so many bytes, and so many lie from one to the next on either side. A thread copies eight of them.
extern "C" __global__ void copy(const u8* in, u8* out, u64 bytes, u64 in_distance, u64 out_distance, u64 first, u64 end) {
    Units<Task::threads> at(first, end, (u32)((bytes + 7) / 8));
    if (!at.live) return;
    const u64 start = at.unit * 8ull;
    const u8* from = in + at.item * in_distance + start;
    u8* to = out + at.item * out_distance + start;
    const u32 count = bytes - start < 8 ? (u32)(bytes - start) : 8;
    const u64 all = (u64)in | (u64)out | in_distance | out_distance | bytes;
    if (all % 8 == 0) copy_words<u64>(from, to, count);
    else if (all % 4 == 0) copy_words<u32>(from, to, count);
    else copy_words<u8>(from, to, count);
}
