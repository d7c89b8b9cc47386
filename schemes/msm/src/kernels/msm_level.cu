// A level above 0: adds to the sum of 2^level entries of a bucket the sum of the next 2^level, or of those that there are.
#include "msm.cuh"
using namespace msm;

// counts, list: as in msm_pairs
extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    msm_level(const u32* counts, const u32* list, Affine* slots, u64 count, u64 width, u64 windows, u64 tiles, u64 level,
              u64 together, u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    const Place place(first, blocks);
    const u32* from = list + place.item * windows * count;
    const u64 all = windows * Buckets(count, width, nullptr).slots;
    Affine* own = slots + place.item * all;
    const Level own_level(counts + place.item * 32 * tiles, tiles, (u32)level, (u32)(windows * count));
    const u32 distance = 1u << (level - 1);
    const auto index = [=](u64 i) { return from[own_level.begin + i]; };
    const auto addition = [=](u64, u32 slot) {
        const u64 right = slot < all ? slot : all - 1;
        Affine* left = own + (right >= distance ? right - distance : 0);
        return Addition{{left, 0}, {own + right, 0}, left};
    };
    add_all(own_level.count, place.block, (u32)together, shared, Get{index, addition});
}
