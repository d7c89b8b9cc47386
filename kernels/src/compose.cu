// CRT reconstruction: the integers in [0, Q) from RNS residues, as 64-bit words, least significant first. One thread
// per coefficient.
//
// x = sum of y_i Q/q_i - t Q with y_i = x_i (Q/q_i)^-1 mod q_i, where x_i is the residue modulo q_i (any word). Here
// t = floor(sum of y_i / q_i). It is computed in fixed point and may be one too small; then Q is subtracted once more.
#include "crt.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// Stored residues are multiplied by a constant R. Table: for each modulus d, reciprocal, shift (`Divisor`) and (Q/q_i
// R)^-1; the words of Q; for each word number, that word of every Q/q_i.
extern "C" __global__ void compose(const Rns::Store* in, const u64* table, u64* out, u64 row_count, u64 limb_count,
                                   u64 in_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    const u32 moduli = (u32)row_count, limbs = (u32)limb_count;
    constexpr u32 stride = Cells::threads + 1;  // odd, against bank conflicts when words are written out
    const u64* q_limbs = table + 4 * moduli;
    const u64* weights = q_limbs + limbs;
    u64* results = (u64*)shared + moduli * stride;
    u64* y = (u64*)shared + threadIdx.x;
    u64* result = results + threadIdx.x;
    Spread<Cells> at(first, end);
    if (at.live) {
        const Rns::Store* from = in + at.item * in_distance + at.cell;
        u64 estimate = 0;  // estimates t in units of 2^-56: at most 64 terms, each less than two units too small
        for (u32 i = 0; i < moduli; i++) {
            Divisor q{table[4 * i], table[4 * i + 1], (u32)table[4 * i + 2]};
            u64 v = q.mul(from[(u64)i * Cells::cells], table[4 * i + 3]);
            y[i * stride] = v;
            estimate += mul_hi(v << q.shift, (1ull << 63) + (q.reciprocal >> 1)) >> 7;
        }
        u64 t = estimate >> 56;
        u64 acc0 = 0, acc1 = 0, acc2 = 0;
        u128 less{0, 0};
        u32 borrow = 0, below_q = 0;
        for (u32 l = 0; l < limbs; l++) {
            for (u32 i = 0; i < moduli; i++) {
                u128 p = mad_wide(y[i * stride], weights[l * moduli + i], u128{acc0, 0});
                acc0 = p.lo;
                acc1 += p.hi;
                acc2 += acc1 < p.hi;
            }
            less = mad_wide(t, q_limbs[l], u128{less.hi, 0});
            u64 limb = acc0 - less.lo - borrow;
            borrow = (u32)(acc0 < less.lo) | ((u32)(acc0 == less.lo) & borrow);
            below_q = (u32)(limb < q_limbs[l]) | ((u32)(limb == q_limbs[l]) & below_q);
            result[l * stride] = limb;
            acc0 = acc1, acc1 = acc2, acc2 = 0;
        }
        u64 above = acc0 - less.hi - borrow;  // 0 or 1: the sum is below 2Q
        u32 once_more = (u32)(above != 0) | (1 - below_q);
        borrow = 0;
        for (u32 l = 0; l < limbs; l++) {
            u64 limb = result[l * stride], q = select(once_more, q_limbs[l], 0ull);
            result[l * stride] = limb - q - borrow;
            borrow = (u32)(limb < q) | ((u32)(limb == q) & borrow);
        }
    }
    __syncthreads();
    for (u32 e = threadIdx.x; e < at.count * limbs; e += Cells::threads)
        out[at.start * limbs + e] = results[e % limbs * stride + e / limbs];
}
