// Which coefficients a thread works on, in kernels that have a thread for each, or for some neighbours.
#pragma once
#include "word.cuh"

namespace rf {

// S is generated: an item has S::cells coefficients, or runs of neighbours; small items share a block of S::threads of them, large
// ones take several. A thread has one, or asks for each by its number within the block.
template <class S>
struct Spread {
    u64 start;  // first cell of the block, counted over all items
    u32 count;  // cells of the block
    u64 item;
    u32 cell;   // within the item
    bool live;  // false in surplus threads

    RF_METHOD Spread(u64 first, u64 end, u32 number = threadIdx.x) {
        u64 block_item = first + (u64)(blockIdx.x / S::blocks_per_item) * S::items_per_block;
        u32 part = blockIdx.x % S::blocks_per_item * S::threads;
        u32 items = end - block_item < S::items_per_block ? (u32)(end - block_item) : S::items_per_block;
        start = block_item * S::cells + part;
        count = min_word(items * S::cells - part, S::threads);
        item = block_item + (part + number) / S::cells;
        cell = (part + number) % S::cells;
        live = number < count;
    }
};

// The same where it is data of the launch how many units of work an item has. If so wanted, threads with the same units of
// some items are in a block, and blocks of the same units of all items stand together: what the items share is read from
// memory once, and by a block once from the L2 cache.
template <u32 Threads, bool Together = false>
struct Units {
    u64 item;
    u32 unit;   // within the item
    bool live;  // false in surplus threads

    RF_METHOD Units(u64 first, u64 end, u32 units) {
        const u32 items = (u32)(end - first);
        if (units < Threads) {
            const u32 each = Threads / units;
            item = first + (u64)blockIdx.x * each + threadIdx.x / units;
            unit = threadIdx.x % units;
            live = threadIdx.x < each * units && item < end;
        } else if constexpr (Together) {
            // a warp's units are neighbours
            const u32 most = Threads / 32 < 8 ? Threads / 32 : 8, lowest = items & (0 - items), depth = min_word(lowest, most);
            const u32 groups = items / depth, part = blockIdx.x / groups, wide = Threads / depth;
            item = first + (u64)(blockIdx.x - part * groups) * depth + threadIdx.x / wide;
            unit = part * wide + threadIdx.x % wide;
            live = unit < units;
        } else {
            const u32 blocks = (units + Threads - 1) / Threads, group = blockIdx.x / blocks;
            item = first + group;
            unit = (blockIdx.x - group * blocks) * Threads + threadIdx.x;
            live = unit < units;
        }
    }
};

}  // namespace rf
