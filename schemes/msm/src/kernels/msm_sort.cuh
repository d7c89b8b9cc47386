// A stable counting sort of tiles: keys, bins and values of its three passes.
//
// A pass sorts segments of `length` keys, one after another, by their bins. A segment has `tiles` tiles of Task::tile
// keys. `counts` has a word for each segment, bin and tile, in this order: first the number of the tile's keys in the
// bin, then, as prefix sums, the place of the tile's first key of this bin in the sorted segment.
#pragma once
#include "buckets.cuh"
#include "scan.cuh"

namespace msm {

// The digits' lowest bits, from the keys of msm_digits, and their entries.
struct LowBits {
    using Value = u64;
    const u32* keys;
    u32 length, low_bits;

    RF_METHOD LowBits(const void* keys, const u32*, u64 length, u64 low_bits, u64, u64)
        : keys((const u32*)keys), length((u32)length), low_bits((u32)low_bits) {}
    RF_METHOD u32 bits() const { return low_bits; }
    RF_METHOD Value value(u32 segment, u32 i) const {
        const u32 key = keys[(u64)segment * length + i];
        return join(i | (key & 0x80000000), key & 0x7fffffff);
    }
    RF_METHOD u32 bin(u32, u32, Value value) const { return staged_bin(value); }
    RF_METHOD static u64 stage(Value value, u32) { return value; }
    RF_METHOD u32 staged_bin(u64 value) const { return bucket_of(value) & ((1u << low_bits) - 1); }
};

// The digits' upper bits, from the entries that the first pass sorted.
struct HighBits {
    using Value = u64;
    const u64* entries;
    u32 length, low_bits, width;

    RF_METHOD HighBits(const void* entries, const u32*, u64 length, u64 low_bits, u64 width, u64)
        : entries((const u64*)entries), length((u32)length), low_bits((u32)low_bits), width((u32)width) {}
    RF_METHOD u32 bits() const { return width - low_bits; }
    RF_METHOD Value value(u32 segment, u32 i) const { return entries[(u64)segment * length + i]; }
    RF_METHOD u32 bin(u32, u32, Value value) const { return staged_bin(value); }
    RF_METHOD static u64 stage(Value value, u32) { return value; }
    RF_METHOD u32 staged_bin(u64 value) const { return bucket_of(value) >> low_bits & ((1u << bits()) - 1); }
};

// The additions of all levels. Entry number r > 0 of a bucket is the right operand of one addition, at level l, the
// number of zero bits at the end of r; the left operand is the sum of the 2^l entries before it. The levels from `pairs` on
// are grouped by four: of those additions, `msm_groups` needs one in each group of 16 2^l entries, the first of level l.
// The single segment has the positions of the sorted entries of all windows. Values are slots at the levels below `pairs`
// but 0, else positions; bin 31 has the other positions.
struct Levels {
    using Value = u32;
    const u64* entries;
    u32 width, count, pairs;
    const u32* starts;

    RF_METHOD Levels(const void* entries, const u32* starts, u64, u64 count, u64 width, u64 pairs)
        : entries((const u64*)entries), width((u32)width), count((u32)count), pairs((u32)pairs), starts(starts) {}
    RF_METHOD u32 bits() const { return 5; }
    RF_METHOD Value value(u32, u32 i) const { return i; }
    RF_METHOD u32 bin(u32, u32 i, Value& value) const {
        const Buckets buckets(count, width, starts);
        const u32 window = i / count, bucket = bucket_of(entries[i]);
        if (bucket >= buckets.buckets) return 31;
        const u32 start = buckets.start(window, bucket), rank = i - window * count - start;
        if (rank == 0) return 31;
        const u32 level = 31 - (u32)__clz((int)(rank & (0 - rank)));
        if (level >= pairs) return (level - pairs) % 4 == 0 && (rank >> level) % 16 == 1 ? pairs + (level - pairs) / 4 : 31;
        if (level > 0) value = (u32)buckets.slot(window, bucket, start) + rank / 2;
        return level;
    }
    RF_METHOD static u64 stage(Value value, u32 bin) { return join(value, bin); }
    RF_METHOD u32 staged_bin(u64 value) const { return high(value); }
};

}  // namespace msm

#include "prelude.cuh"
