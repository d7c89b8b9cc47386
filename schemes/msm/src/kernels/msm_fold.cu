// Halves the sums of msm_halves that remain for each row, and for each column, in place.
#include "msm.cuh"
using namespace msm;

extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    msm_fold(Affine* sums, u64 width, u64 windows, u64 level, u64 together, u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    const Place place(first, blocks);
    const u32 all = 1u << (width - 1), half = all / 2, columns = ((u32)width - 1) / 2, pairs = half >> level;
    const u32 of_rows = level < columns ? pairs : 0, each = of_rows + pairs;
    Affine* own = sums + place.item * windows * all;
    const auto addition = [=](u64 i, u32) {
        const u32 window = (u32)(i / each), k = (u32)(i % each);
        Affine* at = own + (u64)window * all;
        Affine* left = k < of_rows ? at + ((u64)k << level) : at + half + (k - of_rows);
        Affine* right = k < of_rows ? left + (1u << (level - 1)) : left + pairs;
        return Addition{{left, 0}, {right, 0}, left};
    };
    add_all(windows * each, place.block, (u32)together, shared, Get{[](u64) { return 0u; }, addition});
}
