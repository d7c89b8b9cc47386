// RNS residues of integers of 64-bit words, least significant first: word l is multiplied by the weight 2^(64 l) modulo
// each modulus. One thread per coefficient.
//
// Roofline bound for an integer of L words and k moduli of 64 bits: 8 (L + k) bytes of memory traffic. For each
// modulus, L multiply-adds of 8 issue slots of the multiplier and two remainders of 11 slots (one for L = 1).
#include "crt.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// Table: for each modulus d, reciprocal and shift (`Divisor`), then the weights of the words modulo it.
extern "C" __global__ void decompose(const u64* in, const u64* table, Rns::Store* out, u64 row_count, u64 limb_count,
                                     u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    const u32 moduli = (u32)row_count, limbs = (u32)limb_count;
    constexpr u32 stride = Cells::threads + 1;  // odd, against bank conflicts when words are read in
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
