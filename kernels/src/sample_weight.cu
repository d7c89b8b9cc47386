// Elements of a ring with `weight` coefficients 1 or -1 and all others 0: a block for each item.
//
// Coefficient i is one of them with probability left / (n - i), `left` the number of those that are still to come. All threads
// find a uniform place below n - i for each, and one thread compares these with what is left, coefficient after coefficient.
#include "sampling.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Sample::threads)
    sample_weight(const u32* keys, const u64* table, Sample::Store* out, u64 limbs, u64 distance, u64 key_distance, u64 series,
                  u64 weight, u64 first, u64 end) {
    RF_SHARED(shared);
    u32* places = (u32*)shared;  // four of each thread
    u32* own = places + 4 * threadIdx.x;
    const u64 item = first + blockIdx.x;
    u32 left = (u32)weight;
    RF_LOOP
    for (u32 start = 0; start < Sample::n; start += 4 * Sample::threads) {
        const u32 cell = start + 4 * threadIdx.x;
        u32 block[16], chosen[4], negative[4];
        sample_block<Sample>(keys, key_distance, item, series, cell / 4, block);
        RF_UNROLL
        for (u32 j = 0; j < 4; j++) {
            const u32 rest = cell + j < Sample::n ? Sample::n - cell - j : 0;
            u128 x = sample_bits(block, j);
            own[j] = (u32)mad_wide(x.hi, rest, u128{mul_hi(x.lo, (u64)rest), 0}).hi;
            negative[j] = block[4 * j] & 1;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 i = 0; i < 4 * Sample::threads; i++) {
                const u32 is_chosen = places[i] < left;
                places[i] = is_chosen;
                left -= is_chosen;
            }
        }
        __syncthreads();
        RF_UNROLL
        for (u32 j = 0; j < 4; j++) chosen[j] = own[j];
        store_small<Sample>(out + item * distance, table, limbs, cell, chosen, negative);
    }
}
