// The first step to the sums of the rows and columns of each window's buckets, as a matrix with 2^(width / 2 - 1 / 2)
// columns: sums of neighbours in a row, and sums of the upper and the lower half of the rows.
#include "msm.cuh"
using namespace msm;

// sums: for each window, 2^(width - 2) sums for the rows, then as many for the columns
extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    msm_halves(const Affine* slots, const u32* starts, Affine* sums, u64 count, u64 width, u64 windows, u64 together,
               u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    const Place place(first, blocks);
    const u32 all = 1u << (width - 1), half = all / 2;
    const Buckets buckets(count, width, starts + place.item * windows * (all + 1));
    const Affine* own = slots + place.item * windows * buckets.slots;
    Affine* to = sums + place.item * windows * all;
    const auto sum = [=](u32 window, u32 bucket) {
        const u32 start = buckets.start(window, bucket);
        if (start >= buckets.start(window, bucket + 1)) return Operand{nullptr, 0};
        return Operand{own + buckets.slot(window, bucket, start), 0};
    };
    const auto addition = [=](u64 i, u32) {
        const u32 window = (u32)(i / all), k = (u32)(i % all);
        if (k < half) return Addition{sum(window, 2 * k), sum(window, 2 * k + 1), to + i};
        return Addition{sum(window, k - half), sum(window, k), to + i};
    };
    add_all(windows * all, place.block, (u32)together, shared, Get{[](u64) { return 0u; }, addition});
}
