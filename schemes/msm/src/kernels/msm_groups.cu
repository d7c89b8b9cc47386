// Levels `level` to `level + 3` of additions at once: one thread adds the up to 16 sums of 2^level entries that a group of
// a bucket has. The sums share an inversion of the block. This is faster than four levels if few additions are left.
#include "msm.cuh"
#include "sums.cuh"
using namespace msm;

// counts, list: as in msm_pairs; bin: where the groups of this level are in `list`
extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    msm_groups(const u64* entries, const u32* starts, const u32* counts, const u32* list, Affine* slots, u64 count, u64 width,
               u64 windows, u64 tiles, u64 bin, u64 level, u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    const Place place(first, blocks);
    const u32 entries_all = (u32)(windows * count), i = place.block * Task::threads + threadIdx.x;
    const Level own_level(counts + place.item * 32 * tiles, tiles, (u32)bin, entries_all);
    if (place.block * Task::threads >= own_level.count) return;
    const Buckets buckets(count, width, starts + place.item * windows * ((1ull << (width - 1)) + 1));
    const u64 all = windows * buckets.slots;
    Affine *own = slots + place.item * all, *to = own;
    Sum sum = xyzz_infinity<F>();
    if (i < own_level.count) {
        const u32 at = min_word(list[place.item * entries_all + own_level.begin + i], entries_all - 1);
        const u32 window = at / (u32)count, rank_in_window = at - window * (u32)count;
        const u32 bucket = min_word(bucket_of(entries[place.item * entries_all + at]), buckets.buckets - 1);
        const u32 start = min_word(buckets.start(window, bucket), rank_in_window);
        const u32 end = buckets.start(window, bucket + 1), before = 1u << level, rank = rank_in_window - start;
        const u32 group = rank >= before ? rank - before : 0, left = end > start + group ? end - start - group : 0;
        const u64 slot = buckets.slot(window, bucket, start) + group / 2;
        const u32 sums = min_word((left + before - 1) >> level, 16);
        RF_LOOP
        for (u32 k = 0; k < sums; k++) {
            const u64 next = slot + ((u64)k << (level - 1));
            const Affine point = own[next < all ? next : all - 1];
            add_point_to(&sum, &point);
        }
        to += slot < all ? slot : all - 1;
    }
    const Word inverse = invert_in_block<F, Task::threads>(nonzero<F>(sum.zzz), (Word*)shared);
    const Word z = F::mul(inverse, sum.zz);
    Affine point = {F::mul(sum.x, F::square(z)), F::mul(sum.y, inverse)};
    if (is_zero(sum.zz)) point = infinity<Word>();
    if (i < own_level.count) *to = point;
}
