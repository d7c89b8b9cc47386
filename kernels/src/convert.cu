// RNS rows from those of another basis: moduli q_i with product Q to moduli p_j.
//
// x is a sum of digits times weights. Exact: digits of the mixed radix, weight_i = q_0 ... q_(i-1), each found from x_i and
// the digits before it (Garner). Fast: weight_i = Q/q_i and digit_i = x_i weight_i^-1 mod q_i, exact up to a multiple of Q.
//
// Floor for a coefficient from k moduli to l, of 64 bits: 8 (k + l) bytes of memory traffic; k products and l sums of k
// products, exact k (k - 1) / 2 products more, 8 multiplier slots each; a remainder of 11 for every product of the first
// kind and every sum, two for a sum of digits above 2^64.
#include "crt.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// The table. For each q_i: d, reciprocal, shift, weight_i^-1, the digit of floor(Q/2), and if exact the weights of the
// digits before. For each p_j: d, reciprocal, shift, Q mod p_j, the weights of all digits.
extern "C" __global__ void convert(const Rns::From* in, const u64* table, Rns::To* out, u64 sources, u64 targets,
                                   u64 in_distance, u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    constexpr u32 stride = Cells::threads;
    u64* digits = (u64*)shared + threadIdx.x;
    Spread<Cells> at(first, end);
    if (!at.live) return;
    const Rns::From* from = in + at.item * in_distance + at.cell;
    u32 above_half = 0;
    for (u32 i = 0; i < (u32)sources; i++) {
        Divisor q{table[0], table[1], (u32)table[2]};
        u64 x = from[(u64)i * Cells::cells];
        if constexpr (Rns::exact)
            x = sub_mod(x, weighted_sum<Rns::narrow>(digits, stride, table + 5, i, q), q.modulus());
        u64 digit = q.mul(x, table[3]), half = table[4];
        above_half = (u32)(digit > half) | ((u32)(digit == half) & above_half);
        digits[i * stride] = digit;
        table += 5 + (Rns::exact ? i : 0);
    }
    u32 negative = Rns::centred ? above_half : 0;
    Rns::To* to = out + at.item * out_distance + at.cell;
    for (u32 j = 0; j < (u32)targets; j++) {
        Divisor p{table[0], table[1], (u32)table[2]};
        u64 x = weighted_sum<Rns::narrow>(digits, stride, table + 4, (u32)sources, p);
        to[(u64)j * Cells::cells] = (Rns::To)sub_mod(x, select(negative, table[3], 0ull), p.modulus());
        table += 4 + sources;
    }
}
