// The layout of an item's buckets. An item is one multi-scalar multiplication of `count` scalars, with `windows` windows
// of signed digits. A digit d other than 0 puts a point into bucket |d| - 1 of its window, negated if d < 0. There are
// 2^(width - 1) buckets per window.
#pragma once
#include "word.cuh"

namespace msm {

using namespace rf;

// The item of this block, and the number of the block among the item's blocks.
struct Place {
    u64 item;
    u32 block;

    RF_METHOD Place(u64 first, u64 blocks) : item(first + blockIdx.x / (u32)blocks), block(blockIdx.x % (u32)blocks) {}
};

// An entry of a window's sorted list: a point's index, its sign in bit 31, and its bucket in the upper word. Entries of
// digit 0 have the bucket number `buckets` and are last.
RF_FN u32 bucket_of(u64 entry) { return high(entry); }

// The places of a window's points. Its list has `count` entries. `starts` has the first entry of each bucket, and in the end
// the number of entries other than zeros. The sums of a bucket's entries 2 i and 2 i + 1 are in `slots` slots, one after
// another; as there may be a gap after a bucket, its slots begin at a place that depends on its start alone.
//
// An index that is read from memory is limited to its array.
struct Buckets {
    u32 count, buckets, slots;
    const u32* starts;

    RF_METHOD Buckets(u64 count, u64 width, const u32* starts)
        : count((u32)count), buckets(1u << (width - 1)), slots(((u32)count + (1u << (width - 1))) / 2 + 1), starts(starts) {}

    RF_METHOD u32 start(u32 window, u32 bucket) const {
        return min_word(starts[(u64)window * (buckets + 1) + bucket], count);
    }
    // out: the slot of the bucket's first entry, among all slots of the item
    RF_METHOD u64 slot(u32 window, u32 bucket, u32 start) const {
        return (u64)window * slots + (start + bucket) / 2;
    }
};

// The additions of a level, as a part of the list that `Levels` sorted (`msm_sort.cuh`).
struct Level {
    u32 begin, count;

    // counts: the first place of each level and tile in the list of `entries` places
    RF_METHOD Level(const u32* counts, u64 tiles, u32 level, u32 entries)
        : begin(min_word(counts[level * tiles], entries)), count(min_word(counts[(level + 1) * tiles], entries)) {
        count = count > begin ? count - begin : 0;
    }
};

}  // namespace msm
