// Gathers one input of a repetition: an attempt gets the bytes of its item. One warp per attempt; `per_item` consecutive
// attempts belong to one unfinished item.
#include "prelude.cuh"

#include "repeat.cuh"
using namespace rf;

// in: `list`, the unfinished ones of `items` items; `round`, the number of the round's first attempt, then attempts per item; `from`,
//     `words` words for each item
// out: `to`, `words` words for each attempt
extern "C" __global__ void __launch_bounds__(Task::threads)
    repeat_take(const u32* list, const u32* round, const u32* from, u32* to, u64 words, u64 items, u64 first, u64 end) {
    const u64 attempt = first + (u64)blockIdx.x * (Task::threads / 32) + threadIdx.x / 32;
    if (attempt >= end) return;
    // the item is in the batch, for any contents of the arrays
    const u32 last = (u32)items - 1, place = min_word((u32)attempt / attempts_each(round), last);
    copy_by_warp(from + min_word(list[place], last) * words, to + attempt * words, (u32)words);
}
