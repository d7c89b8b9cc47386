// Ring elements whose coefficients are 1 or -1 at the indices in a set and 0 elsewhere, or the other way round. One
// thread per coefficient; the thread compares the coefficient's index with the whole set.
//
// Roofline bound: memory, since every residue is written once; a comparison of each coefficient with each index of the
// set.
#include "small.cuh"
#include "prelude.cuh"
using namespace rf;

// in: for each item a set of `count` indices, and signs, in the layout of `sample_places`; of_zeros: 1 if the set has
//     the indices of the zeros, else 0
extern "C" __global__ void __launch_bounds__(Sample::threads)
    sample_weight(const u32* sets, const u32* table, Sample::Store* out, u64 moduli, u64 distance, u64 count, u64 of_zeros,
                  u64 first, u64 end) {
    constexpr u32 bit_words = (Sample::n + 511) / 512 * 16;
    RF_SHARED(shared);
    u32* integers = (u32*)shared;
    const Spread<Cells> at(first, end, threadIdx.x / 4);
    const u32 cell = 4 * at.cell + threadIdx.x % 4, groups = (u32)(count + 3) / 4;
    if (at.live && cell < Sample::n) {
        const u32* set = sets + at.item * (4 * groups + bit_words);
        u32 above = ~0u;  // least difference modulo 2^32 of an index of the set and this thread's index
        for (u32 i = 0; i < groups; i++) {
            const u32x4 places = ((const u32x4*)set)[i];
            above = min_word(above, places.x - cell);
            above = min_word(above, places.y - cell);
            above = min_word(above, places.z - cell);
            above = min_word(above, places.w - cell);
        }
        const u32 sign = set[4 * groups + cell / 32] >> cell % 32 & 1;
        integers[threadIdx.x] = biased((u32)(above == 0) ^ (u32)of_zeros, sign);
    }
    __syncthreads();
    store_small<Sample, Cells>(integers, table, out, (u32)moduli, distance, first, end);
}
