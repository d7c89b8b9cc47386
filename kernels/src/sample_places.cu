// A uniformly random set of `count` indices below Sample::n, and a random bit for each index below n: one block per
// item.
//
// Floyd's method: for i = count - 1, ..., 0 an index is drawn, uniform in [i, n), and replaced by i if the set already
// contains it. All indices are drawn at once. Then 32 at a time are compared with the whole set, so that neither time
// nor addresses depend on the set.
// Source: Sendrier, "Secure sampling of constant-weight words - application to BIKE", algorithm 3.
#include "sampling.cuh"
#include "prelude.cuh"
using namespace rf;

// Lanes insert their indices into the set from the last lane to the first.
// in: `own`, the index drawn by the lane, whose number in the set is base + lane; `taken`, a bit for each lane whose
//     index was in the set before
// out: a bit for each lane whose index is in the set when the lane inserts it
RF_FN u32 taken_lanes(u32 own, u32 base, u32 taken) {
    const u32 lane = threadIdx.x % 32;
    u32 again = taken >> lane & 1;
    RF_UNROLL
    for (u32 j = 1; j < 32; j++) again |= (u32)(__shfl_sync(0xffffffff, own, (int)j) == own) & (u32)(lane < j);
    taken = __ballot_sync(0xffffffff, (int)again);
    // an index that equals another lane's number is in the set if that lane inserted its number instead of its index
    const u32 link = (u32)(own - base < 32) << (own - base & 31);
    RF_UNROLL
    for (u32 j = 32; j-- > 0;) taken |= select(taken & __shfl_sync(0xffffffff, link, (int)j), 1u << j, 0u);
    return taken;
}

// Output of an item: its indices, padded with all-ones words to a multiple of four, then a random bit for each index
// below n, in 32-bit words.
extern "C" __global__ void __launch_bounds__(Sample::threads)
    sample_places(const u32* keys, u32* out, u64 key_distance, u64 series, u64 count, u64 first, u64 end) {
    constexpr u32 warps = Sample::threads / 32, bit_blocks = (Sample::n + 511) / 512;
    RF_SHARED(shared);
    u32* taken_by = (u32*)shared;  // for each warp, which of the 32 indices it found in the set
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, groups = (u32)(count + 3) / 4;
    const u64 item = first + blockIdx.x;
    u32* places = out + item * (4 * groups + 16 * bit_blocks);
    u32x4* to = (u32x4*)places;
    RF_LOOP
    for (u32 number = threadIdx.x; number < groups + bit_blocks; number += Sample::threads) {
        u32 block[16];
        sample_block<Sample>(keys, key_distance, item, series, number, block);
        if (number < groups) {
            u32 four[4];
            RF_UNROLL
            for (u32 j = 0; j < 4; j++) {
                const u32 i = 4 * number + j;
                const u64 choices = Sample::n - i;
                const u128 x = sample_bits(block, j);
                four[j] = i < count ? i + (u32)mad_wide(x.hi, choices, u128{mul_hi(x.lo, choices), 0}).hi : ~0u;
            }
            to[number] = {four[0], four[1], four[2], four[3]};
        } else {
            RF_UNROLL
            for (u32 j = 0; j < 4; j++)
                to[groups + 4 * (number - groups) + j] = {block[4 * j], block[4 * j + 1], block[4 * j + 2], block[4 * j + 3]};
        }
    }
    __syncthreads();
    RF_LOOP
    for (u32 base = (u32)(count + 31) / 32 * 32; base > 0;) {
        base -= 32;
        const u32 i = base + lane, own = i < count ? places[i] : ~lane;  // beyond `count`, all lanes differ
        u32 is_taken = 0;
        for (u32 j = base / 4 + 8 + warp; j < groups; j += warps) {
            const u32x4 later = to[j];
            is_taken |= (u32)(later.x == own) | (u32)(later.y == own) | (u32)(later.z == own) | (u32)(later.w == own);
        }
        taken_by[warp] = __ballot_sync(0xffffffff, (int)is_taken);
        __syncthreads();
        if (warp == 0) {
            u32 taken = 0;
            for (u32 j = 0; j < warps; j++) taken |= taken_by[j];
            taken = taken_lanes(own, base, taken);
            if (i < count) places[i] = select(taken >> lane & 1, i, own);
        }
        __syncthreads();
    }
}
