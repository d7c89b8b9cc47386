// Rows, one behind another, to where elements of one place stand together, or the other way round: a thread for a word.
//
// Floor: memory, every byte read and written once.
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// Rows have so many elements of so many words. Threads go along the elements that stand together: a warp's words of a row are
// neighbours as well.
extern "C" __global__ void interleave(const Task::Word* in, Task::Word* out, u64 units, u64 rows, u64 length, u64 words,
                                      u64 first, u64 end) {
    Units<Task::threads> at(first, end, (u32)units);
    if (!at.live) return;
    const u32 element = at.unit / (u32)words, word = at.unit % (u32)words;
    const u32 row = element % (u32)rows, place = element / (u32)rows;
    const u64 item = at.item * units, apart = item + (row * length + place) * words + word, together = item + at.unit;
    if (Task::together) out[together] = in[apart];
    else out[apart] = in[together];
}
