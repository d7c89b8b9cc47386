// Ring elements with independent small integer coefficients from a symmetric distribution, by inversion of the
// cumulative distribution. One thread per coefficient; some threads first draw a block of 16 random words for four
// coefficients.
//
// A magnitude is the number of thresholds that do not exceed 128 random bits; all thresholds are compared, so the time
// is constant. The lowest of these bits is the sign and does not affect the magnitude.
//
// Roofline bound: memory, since every residue is written once; a quarter of a block of ChaCha20 for each coefficient.
#include "sampling.cuh"
#include "small.cuh"
#include "prelude.cuh"
using namespace rf;

// Table: the moduli (`SmallMultiples`), then `count` thresholds of 128 bits, least significant word first.
extern "C" __global__ void __launch_bounds__(Sample::threads)
    sample_small(const u32* keys, const u32* table, Sample::Store* out, u64 moduli, u64 distance, u64 key_distance, u64 series,
                 u64 count, u64 first, u64 end) {
    RF_SHARED(shared);
    u32x4* bits = (u32x4*)shared;
    u32* integers = (u32*)(bits + Sample::threads);
    const Spread<Cells> at(first, end);
    if (at.live) {
        u32 block[16];
        sample_block<Sample>(keys, key_distance, at.item, series, at.cell, block);
        RF_UNROLL
        for (u32 j = 0; j < 4; j++)
            bits[4 * threadIdx.x + j] = {block[4 * j], block[4 * j + 1], block[4 * j + 2], block[4 * j + 3]};
    }
    __syncthreads();
    if (threadIdx.x < 4 * at.count) {
        const u32x4* thresholds = (const u32x4*)(table + moduli * SmallMultiples<Sample::limbs>::words);
        const u32x4 own = bits[threadIdx.x];
        const u32 x[4] = {own.x, own.y, own.z, own.w};
        u32 magnitude = (u32)count;
        for (u32 i = 0; i < (u32)count; i++) {
            const u32x4 threshold = thresholds[i];
            const u32 t[4] = {threshold.x, threshold.y, threshold.z, threshold.w};
            u32 rest[4];
            magnitude += sub_limbs<4>(rest, x, t);  // a borrow is -1
        }
        integers[threadIdx.x] = biased(magnitude, x[0] & 1);
    }
    __syncthreads();
    store_small<Sample, Cells>(integers, table, out, (u32)moduli, distance, first, end);
}
