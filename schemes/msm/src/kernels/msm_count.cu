// Counts the keys of each bin in each tile: one block per tile.
#include "msm_sort.cuh"
using namespace msm;

using Keys = Task::Keys;

// `at` and `starts` are the inputs of `Keys`.
extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_count(const void* at, const u32* starts, u32* counts, u64 in_bytes, u64 starts_words, u64 segments, u64 length,
              u64 detail, u64 width, u64 pairs, u64 first, u64) {
    RF_SHARED(shared);
    u32* in_bin = (u32*)shared;
    const u32 tiles = ((u32)length + Task::tile - 1) / Task::tile;
    const Place place(first, segments * tiles);
    const u32 segment = place.block / tiles, tile = place.block % tiles;
    const Keys keys((const u8*)at + place.item * in_bytes, starts + place.item * starts_words, length, detail, width, pairs);
    const u32 bins = 1u << keys.bits();
    for (u32 bin = threadIdx.x; bin < bins; bin += Task::threads) in_bin[bin] = 0;
    __syncthreads();
    RF_LOOP
    for (u32 k = threadIdx.x; k < Task::tile; k += Task::threads) {
        const u32 i = tile * Task::tile + k;
        if (i >= length) break;
        auto value = keys.value(segment, i);
        atomicAdd(in_bin + keys.bin(segment, i, value), 1);
    }
    __syncthreads();
    u32* to = counts + place.item * segments * bins * tiles;
    for (u32 bin = threadIdx.x; bin < bins; bin += Task::threads)
        to[((u64)segment * bins + bin) * tiles + tile] = in_bin[bin];
}
