// Which coefficients a thread works on, in kernels that have a thread for each, or for some neighbours.
#pragma once
#include "word.cuh"

namespace rf {

// S is generated: an item has S::cells coefficients; small items share a block, large ones take several. A thread has
// S::each coefficients, S::threads apart, and asks for each by its number within the block.
template <class S>
struct Spread {
    u64 start;  // first coefficient of the block, counted over all items
    u32 count;  // coefficients of the block
    u64 item;
    u32 cell;   // coefficient within the item
    bool live;  // false in surplus threads

    RF_METHOD Spread(u64 first, u64 end, u32 number = threadIdx.x) {
        constexpr u32 block = S::threads * S::each;
        u64 block_item = first + (u64)(blockIdx.x / S::blocks_per_item) * S::items_per_block;
        u32 part = blockIdx.x % S::blocks_per_item * block;
        u32 items = end - block_item < S::items_per_block ? (u32)(end - block_item) : S::items_per_block;
        start = block_item * S::cells + part;
        count = min_word(items * S::cells - part, block);
        item = block_item + (part + number) / S::cells;
        cell = (part + number) % S::cells;
        live = number < count;
    }
};

// The same where it is data of the launch how many units of work an item has. If so wanted, blocks of the same units of all
// items stand together, so that what the items share is read from memory once.
template <u32 Threads, bool Together = false>
struct Units {
    u64 item;
    u32 unit;   // within the item
    bool live;  // false in surplus threads

    RF_METHOD Units(u64 first, u64 end, u32 units) {
        u32 blocks = (units + Threads - 1) / Threads, items = units < Threads ? Threads / units : 1;
        u32 groups = (u32)((end - first + items - 1) / items);
        u32 group = Together ? blockIdx.x % groups : blockIdx.x / blocks;
        u32 at = (Together ? blockIdx.x / groups : blockIdx.x % blocks) * Threads + threadIdx.x;
        item = first + (u64)group * items + at / units;
        unit = at % units;
        live = at < items * units && item < end;
    }
};

}  // namespace rf
