// Elements of a ring whose coefficients are small integers, each on its own of a symmetric distribution: a thread for four
// of them.
//
// A magnitude is the number of thresholds that 128 random bits are not below: all of them are compared.
#include "sampling.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// The table: moduli, then `count` thresholds, lower words first.
extern "C" __global__ void sample_small(const u32* keys, const u64* table, Sample::Store* out, u64 limbs, u64 distance,
                                        u64 key_distance, u64 series, u64 count, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    u32 block[16], magnitude[4] = {}, negative[4];
    sample_block<Sample>(keys, key_distance, at.item, series, at.cell, block);
    const u64* threshold = table + limbs * Sample::Limb::words;
    RF_LOOP
    for (u64 i = 0; i < count; i++, threshold += 2) {
        const u64 lo = threshold[0], hi = threshold[1];
        RF_UNROLL
        for (u32 j = 0; j < 4; j++) {
            u128 x = sample_bits(block, j);
            magnitude[j] += (u32)(x.hi > hi) | ((u32)(x.hi == hi) & (u32)(x.lo >= lo));
        }
    }
    RF_UNROLL
    for (u32 j = 0; j < 4; j++) negative[j] = block[4 * j] & 1;
    store_small<Sample>(out + at.item * distance, table, limbs, 4 * at.cell, magnitude, negative);
}
