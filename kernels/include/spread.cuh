// Assignment of coefficients to threads, in kernels with one thread per coefficient or per group of adjacent ones.
#pragma once
#include "word.cuh"

namespace rf {

// Position of a thread in a launch over cells. S is a generated struct: an item has S::cells cells, which are
// coefficients or groups of adjacent ones. Small items share a block of S::threads cells; large ones take several
// blocks. By default a thread has the cell of the block with its own number; `number` names another.
template <class S>
struct Spread {
    u64 start;  // first cell of the block, counted over all items
    u32 count;  // cells of the block
    u64 item;
    u32 cell;   // index in the item
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

// Position of a thread in a launch over units of work, whose number per item is a launch argument. If Together, a block
// holds the same units of several items, and the blocks with the same units of all items are consecutive. Data that
// items share is then read from memory once, and from the L2 cache once per block.
template <u32 Threads, bool Together = false>
struct Units {
    u64 item;
    u32 unit;   // index in the item
    bool live;  // false in surplus threads

    RF_METHOD Units(u64 first, u64 end, u32 units) {
        const u32 items = (u32)(end - first);
        if (units < Threads) {
            const u32 each = Threads / units;
            item = first + (u64)blockIdx.x * each + threadIdx.x / units;
            unit = threadIdx.x % units;
            live = threadIdx.x < each * units && item < end;
        } else if constexpr (Together) {
            // a warp's units are adjacent
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
