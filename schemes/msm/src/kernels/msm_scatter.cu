// Moves the values of a tile to their sorted places: one block per tile. Each warp has a contiguous part of the tile.
#include "msm_sort.cuh"
using namespace msm;

using Keys = Task::Keys;

// `at` and `starts` are the inputs of `Keys`.
extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_scatter(const void* at, const u32* starts, const u32* counts, Keys::Value* sorted, u64 in_bytes, u64 starts_words,
                u64 segments, u64 length, u64 detail, u64 width, u64 first, u64) {
    constexpr u32 warps = Task::threads / 32, part = Task::tile / warps;
    RF_SHARED(shared);
    u32* next = (u32*)shared;  // for each warp and bin, the number of its keys, then the place of the next one
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 tiles = ((u32)length + Task::tile - 1) / Task::tile;
    const Place place(first, segments * tiles);
    const u32 segment = place.block / tiles, tile = place.block % tiles;
    const Keys keys((const u8*)at + place.item * in_bytes, starts + place.item * starts_words, length, detail, width);
    const u32 bits = keys.bits(), bins = 1u << bits, begin = tile * Task::tile + warp * part;
    for (u32 i = threadIdx.x; i < warps * bins; i += Task::threads) next[i] = 0;
    __syncthreads();
    u32* own = next + warp * bins;
    RF_LOOP
    for (u32 k = lane; k < part; k += 32) {
        const u32 i = begin + k;
        if (i >= length) break;
        auto value = keys.value(segment, i);
        atomicAdd(own + keys.bin(segment, i, value), 1);
    }
    __syncthreads();
    const u32* from = counts + place.item * segments * bins * tiles;
    for (u32 bin = threadIdx.x; bin < bins; bin += Task::threads) {
        u32 sum = from[((u64)segment * bins + bin) * tiles + tile];
        for (u32 w = 0; w < warps; w++) {
            const u32 here = next[w * bins + bin];
            next[w * bins + bin] = sum;
            sum += here;
        }
    }
    __syncthreads();
    Keys::Value* to = sorted + (place.item * segments + segment) * length;
    RF_LOOP
    for (u32 k = 0; k < part; k += 32) {
        const u32 i = begin + k + lane;
        const u32 inside = __ballot_sync(0xffffffff, i < length);
        if (inside == 0) break;
        auto value = i < length ? keys.value(segment, i) : 0;
        const u32 bin = i < length ? keys.bin(segment, i, value) : 0;
        const u32 same = lanes_with(bin, bits) & inside, rank = __popc(same & ((1u << lane) - 1));
        u32 start = 0;
        if (i < length) start = own[bin];
        __syncwarp();
        if (i < length) {
            to[min_word(start + rank, (u32)length - 1)] = value;
            if (rank == 0) own[bin] = start + __popc(same);
        }
        __syncwarp();
    }
}
