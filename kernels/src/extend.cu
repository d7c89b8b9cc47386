// Rows of elements as the first part of longer rows, which end in zeros: a thread for a word of a longer one.
//
// Floor: memory, the shorter rows read and the longer ones written.
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// Rows have so many words, and so many words lie from an item to the next on either side.
extern "C" __global__ void extend(const Task::Word* in, Task::Word* out, u64 units, u64 shorter, u64 longer, u64 in_distance,
                                  u64 out_distance, u64 first, u64 end) {
    Units<Task::threads> at(first, end, (u32)units);
    if (!at.live) return;
    const u32 row = at.unit / (u32)longer, place = at.unit % (u32)longer;
    Task::Word word{};
    if (place < shorter) word = in[at.item * in_distance + row * shorter + place];
    out[at.item * out_distance + at.unit] = word;
}
