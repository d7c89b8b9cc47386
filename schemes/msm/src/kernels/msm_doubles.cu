// Doubles of points.
#include "msm.cuh"
using namespace msm;

extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    msm_doubles(const Affine* points, Affine* doubles, u64 count, u64 together, u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    const Place place(first, blocks);
    const Affine* from = points + place.item * count;
    Affine* to = doubles + place.item * count;
    const auto addition = [=](u64 i, u32) { return Addition{{from + i, 0}, {from + i, 0}, to + i}; };
    add_all(count, place.block, (u32)together, shared, Get{[](u64) { return 0u; }, addition});
}
