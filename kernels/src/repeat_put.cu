// Scatters one output of a repetition: an item whose attempts of this round include a finished one gets the output of
// the first of them. One warp per item.
#include "prelude.cuh"

#include "repeat.cuh"
using namespace rf;

// in: `places`, the place of each item among the unfinished ones, or no_item; `round`, the number of the round's first
//     attempt, then attempts per item; `statuses` of `attempts` attempts; `from`, `words` words for each attempt
// out: `to`, `words` words for each item that this round finishes; the words of other items stay as they are
extern "C" __global__ void __launch_bounds__(Task::threads)
    repeat_put(const u32* places, const u32* round, const u32* statuses, const u32* from, u32* to, u64 words, u64 attempts,
               u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * (Task::threads / 32) + threadIdx.x / 32;
    if (item >= end || places[item] == Task::no_item) return;
    u64 attempt = (u64)places[item] * attempts_each(round);
    const u64 stop = attempt + attempts_each(round);
    while (attempt < stop && attempt < attempts && statuses[attempt] == Task::again) attempt++;
    if (attempt >= stop || attempt >= attempts) return;
    copy_by_warp(from + attempt * words, to + item * words, (u32)words);
}
