// RNS rows from integers of 64-bit limbs, least significant first: limb l counts 2^(64 l) modulo each modulus.
//
// Floor for an integer of L limbs and k moduli of 64 bits: 8 (L + k) bytes of memory traffic, and for each modulus L sums
// of products of 8 multiplier slots and two remainders of 11 (one for L = 1).
#include "crt.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// The table: for each modulus d, reciprocal and shift, then the weights of the limbs.
extern "C" __global__ void decompose(const u64* in, const u64* table, Rns::Store* out, u64 row_count, u64 limb_count,
                                     u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    const u32 moduli = (u32)row_count, limbs = (u32)limb_count;
    constexpr u32 stride = Cells::threads + 1;  // odd, against bank conflicts when limbs are read in
    u64* integers = (u64*)shared;
    Spread<Cells> at(first, end);
    for (u32 e = threadIdx.x; e < at.count * limbs; e += Cells::threads)
        integers[e % limbs * stride + e / limbs] = in[at.start * limbs + e];
    __syncthreads();
    if (!at.live) return;
    Rns::Store* to = out + at.item * out_distance + at.cell;
    for (u32 i = 0; i < moduli; i++) {
        Divisor q{table[0], table[1], (u32)table[2]};
        to[(u64)i * Cells::cells] =
            (Rns::Store)weighted_sum<Rns::narrow>(integers + threadIdx.x, stride, table + 3, limbs, q);
        table += 3 + limbs;
    }
}
