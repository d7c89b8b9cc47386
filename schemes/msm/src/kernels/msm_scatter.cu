// Moves the values of a tile to their sorted places: one block per tile. Each warp has a contiguous part of the tile. The
// tile is first sorted in shared memory, so that neighbouring threads write neighbouring values.
#include "msm_sort.cuh"
using namespace msm;

using Keys = Task::Keys;

// `at` and `starts` are the inputs of `Keys`.
extern "C" __global__ void __launch_bounds__(Task::threads, 1024 / Task::threads)
    msm_scatter(const void* at, const u32* starts, const u32* counts, Keys::Value* sorted, u64 in_bytes, u64 starts_words,
                u64 segments, u64 length, u64 detail, u64 width, u64 pairs, u64 first, u64) {
    constexpr u32 warps = Task::threads / 32, part = Task::tile / warps, rounds = part / 32;
    RF_SHARED(shared);
    u64* staged = (u64*)shared;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 tiles = ((u32)length + Task::tile - 1) / Task::tile;
    const Place place(first, segments * tiles);
    const u32 segment = place.block / tiles, tile = place.block % tiles;
    const Keys keys((const u8*)at + place.item * in_bytes, starts + place.item * starts_words, length, detail, width, pairs);
    const u32 bits = keys.bits(), bins = 1u << bits, begin = tile * Task::tile + warp * part + lane;
    u32* base = (u32*)(staged + Task::tile);  // of each bin, its place minus its place in the tile
    u32* of_warps = base + bins;              // for the prefix sum
    u16* next = (u16*)(of_warps + warps);     // for each warp and bin, the number of its keys so far
    u16* own = next + warp * bins;
    for (u32 bin = lane; bin < bins; bin += 32) own[bin] = 0;
    Keys::Value value[rounds];
    RF_UNROLL
    for (u32 k = 0; k < rounds; k++) value[k] = begin + 32 * k < length ? keys.value(segment, begin + 32 * k) : 0;

    // the rank of each key among the keys of its warp and bin
    u32 found[rounds];  // rank and, in the upper half, bin
    RF_UNROLL
    for (u32 k = 0; k < rounds; k++) {
        const u32 i = begin + 32 * k, inside = __ballot_sync(0xffffffff, i < length);
        const u32 bin = i < length ? keys.bin(segment, i, value[k]) : 0;
        const u32 same = lanes_with(bin, bits) & inside, before = __popc(same & ((1u << lane) - 1));
        order_lanes();
        const u32 rank = own[bin] + before;
        found[k] = rank | bin << 16;
        __syncwarp();
        if (i < length && before == 0) own[bin] = (u16)(rank + __popc(same));
    }
    __syncthreads();

    // the places in the tile of each bin, and in each bin of each warp
    const u32 each = (bins + Task::threads - 1) / Task::threads, from = threadIdx.x * each;
    u32 sum = 0, total;
    for (u32 bin = from; bin < min_word(from + each, bins); bin++)
        for (u32 w = 0; w < warps; w++) sum += next[w * bins + bin];
    u32 here = block_prefix<Task::threads>(sum, of_warps, total);
    const u32* places = counts + place.item * segments * bins * tiles;
    for (u32 bin = from; bin < min_word(from + each, bins); bin++) {
        base[bin] = places[((u64)segment * bins + bin) * tiles + tile] - here;
        for (u32 w = 0; w < warps; w++) {
            const u32 count = next[w * bins + bin];
            next[w * bins + bin] = (u16)here;
            here += count;
        }
    }
    __syncthreads();
    RF_UNROLL
    for (u32 k = 0; k < rounds; k++)
        if (begin + 32 * k < length) staged[own[found[k] >> 16] + (u16)found[k]] = Keys::stage(value[k], found[k] >> 16);
    __syncthreads();
    Keys::Value* to = sorted + (place.item * segments + segment) * length;
    RF_LOOP
    for (u32 k = threadIdx.x; k < total; k += Task::threads) {
        const u64 moved = staged[k];
        to[min_word(base[keys.staged_bin(moved)] + k, (u32)length - 1)] = (Keys::Value)moved;
    }
}
