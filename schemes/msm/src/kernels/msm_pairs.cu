// Level 0: the sums of entries 2 i and 2 i + 1 of every bucket, to their slots. A last entry without a partner is copied.
// Slots that belong to no bucket become infinity.
#include "msm.cuh"
using namespace msm;

RF_FN Operand base_of(const Affine* bases, u64 points, u64 entry) {
    const u32 index = low(entry) & 0x7fffffff;
    return {bases + min_word(index, (u32)points - 1), low(entry) >> 31};
}

// counts: where each level begins in `list`, as `Levels` sorted it
extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    msm_pairs(const Affine* bases, const u64* entries, const u32* starts, const u32* counts, const u32* list, Affine* slots,
              u64 points, u64 count, u64 width, u64 windows, u64 tiles, u64 together, u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    const Place place(first, blocks);
    const u32 all = 1u << (width - 1);
    const Buckets buckets(count, width, starts + place.item * windows * (all + 1));
    const u64* own = entries + place.item * windows * count;
    Affine* to = slots + place.item * windows * buckets.slots;
    const u64 thread = (u64)place.block * Task::threads + threadIdx.x, threads = blocks * Task::threads;
    RF_LOOP
    for (u64 i = thread; i < windows * all; i += threads) {
        const u32 window = (u32)(i / all), bucket = (u32)(i % all);
        const u32 end = buckets.start(window, bucket + 1), start = min_word(buckets.start(window, bucket), end);
        const u64 next = buckets.slot(window, bucket + 1, end);
        u64 slot = buckets.slot(window, bucket, start) + (end - start) / 2;
        if ((end - start) % 2 == 1) {
            to[slot] = base_of(bases, points, own[(u64)window * count + end - 1]).point();
            slot++;
        }
        if (slot < next) to[slot] = infinity<Word>();
    }
    for (u32 window = 0; window < windows; window++) {
        const u64 used = buckets.slot(0, all, buckets.start(window, all));
        RF_LOOP
        for (u64 slot = used + thread; slot < buckets.slots; slot += threads)
            to[(u64)window * buckets.slots + slot] = infinity<Word>();
    }
    const u32* from = list + place.item * windows * count;
    const u32 entries_all = (u32)(windows * count);
    const Level level(counts + place.item * 32 * tiles, tiles, 0, entries_all);
    const auto index = [=](u64 i) { return min_word(from[level.begin + i], entries_all - 1); };
    const auto addition = [=](u64, u32 at) {
        const u32 window = at / (u32)count, in_window = at - window * (u32)count;
        const u32 bucket = min_word(bucket_of(own[at]), all - 1), start = min_word(buckets.start(window, bucket), in_window);
        const u64 slot = buckets.slot(window, bucket, start) + (in_window - start) / 2;
        return Addition{base_of(bases, points, own[at - (at > 0)]), base_of(bases, points, own[at]), to + slot};
    };
    add_all(level.count, place.block, (u32)together, shared, Get{index, addition});
}
