// Uniform ring elements: a thread computes the coefficients of one random block, limb after limb.
//
// Roofline bound for a residue: half a block of ChaCha20, about 500 instructions, for up to 64 bits, and a block for
// 256.
#include "sampling.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void sample_uniform(const u32* keys, const u64* table, Sample::Store* out, u64 limbs, u64 distance,
                                          u64 key_distance, u64 series, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    constexpr u32 each = Sample::Limb::per_block;
    Sample::Store* to = out + at.item * distance + at.cell * each;
    RF_LOOP
    for (u32 i = 0; i < (u32)limbs; i++, table += Sample::Limb::words, to += Sample::n) {
        u32 block[16];
        sample_block<Sample>(keys, key_distance, at.item, series, i * Cells::cells + at.cell, block);
        const Sample::Limb limb(table);
        RF_UNROLL
        for (u32 j = 0; j < each; j++)
            if (at.cell * each + j < Sample::n) to[j] = (Sample::Store)limb.uniform(block, j);
    }
}
