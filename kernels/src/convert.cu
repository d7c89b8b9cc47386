// RNS rows from those of another basis: moduli q_i with product Q to moduli p_j.
//
// x is a sum of digits times weights. Exact: digits of the mixed radix, weight_i = q_0 ... q_(i-1), each found from x_i and
// the digits before it (Garner). Fast: weight_i = Q/q_i and digit_i = x_i weight_i^-1 mod q_i, exact up to a multiple of Q.
//
// Floor for a coefficient from k moduli to l, of 64 bits: 8 (k + l) bytes of memory traffic; k products and l sums of k
// products, exact k (k - 1) / 2 products more, 8 multiplier slots each; a remainder of 11 for every product of the first
// kind and every sum, two for a sum of digits above 2^64. Below 2^60 a product takes 6 slots, a remainder 10.
#include "crt.cuh"
#include "packed.cuh"
#include "spread.cuh"
#include "sum60.cuh"
#include "prelude.cuh"
using namespace rf;

// Where a coefficient's residues go.
struct Output {
    Epilogue epilogue;
    Rns::To* out;
    u64 distance, item;
    u32 cell;
    bool live;

    // in: its residue modulo the j-th modulus of the target
    RF_METHOD void store(u32 j, u64 x) const {
        if (!live) return;
        auto offset = [&](u64 apart) { return item * apart + (u64)j * Cells::cells + cell; };
        auto ending = epilogue.of_row(j, offset);
        store_run<1, sizeof(Rns::To)>(ending, out + offset(distance), 0, [&](u32) { return (Rns::To)x; });
    }
};

// From K moduli below 2^60 to others, the digits of Cells::each coefficients in registers. The table has a row of 4 + K words
// for each q_i and p_j, and a word more where that is odd: d, ratio, shift; of q_i the digit of floor(Q/2), of p_j -Q mod p_j
// times 2^shift; times 2^shift and in halves, what makes a digit of those before it and x_i, or the weights of all digits.
template <u32 K>
RF_FN void convert_few(const Rns::From* const* from, const u64x2* row, const Output* to, u32 targets) {
    constexpr u32 pairs = (5 + K) / 2;
    u64 words[2 * pairs];
    const u64 &constant = words[3], *weights = words + 4;
    auto next = [&] {
        RF_UNROLL
        for (u32 i = 0; i < pairs; i++) words[2 * i] = row[i].x, words[2 * i + 1] = row[i].y;
        row += pairs;
        return Divisor60{words[0], words[1], (u32)words[2]};
    };
    Halves digits[Cells::each][K];
    u32 above_half[Cells::each] = {};
    RF_UNROLL
    for (u32 c = 0; c < Cells::each; c++) {
        RF_UNROLL
        for (u32 i = 0; i < K; i++) digits[c][i] = Halves(from[c][(u64)i * Cells::cells]);
    }
    RF_UNROLL
    for (u32 i = 0; i < K; i++) {
        Divisor60 q = next();
        RF_UNROLL
        for (u32 c = 0; c < Cells::each; c++) {
            Sum60 sum(0);
            RF_UNROLL
            for (u32 j = Rns::exact ? 0 : i; j <= i; j++) sum.add(digits[c][j], weights[j]);
            u64 digit = q.rem(sum);
            above_half[c] = (u32)(digit > constant) | ((u32)(digit == constant) & above_half[c]);
            digits[c][i] = Halves(digit);
        }
    }
    RF_LOOP
    for (u32 j = 0; j < targets; j++) {
        Divisor60 p = next();
        RF_UNROLL
        for (u32 c = 0; c < Cells::each; c++) {
            Sum60 sum(Rns::centred ? select(above_half[c], constant, 0ull) : 0);
            RF_UNROLL
            for (u32 i = 0; i < K; i++) sum.add(digits[c][i], weights[i]);
            u64 x = p.rem(sum);
            to[c].store(j, x);
        }
    }
}

// From any moduli, the digits in shared memory. The table: for each q_i d, reciprocal, shift, weight_i^-1, the digit of
// floor(Q/2), and if exact the weights of the digits before; for each p_j d, reciprocal, shift, Q mod p_j, the weights of
// all digits.
RF_FN void convert_many(const Rns::From* from, const u64* table, const Output& to, u32 sources, u32 targets, u64* digits) {
    constexpr u32 stride = Cells::threads;
    u32 above_half = 0;
    for (u32 i = 0; i < sources; i++) {
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
    for (u32 j = 0; j < targets; j++) {
        Divisor p{table[0], table[1], (u32)table[2]};
        u64 x = weighted_sum<Rns::narrow>(digits, stride, table + 4, sources, p);
        to.store(j, sub_mod(x, select(negative, table[3], 0ull), p.modulus()));
        table += 4 + sources;
    }
}

extern "C" __global__ void __launch_bounds__(Cells::threads)
    convert(const Rns::From* in, const u64* table, Rns::To* out, Epilogue epilogue, u64 sources, u64 targets,
            u64 in_distance, u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    const Rns::From* from[Cells::each];
    Output to[Cells::each];
    RF_UNROLL
    for (u32 c = 0; c < Cells::each; c++) {
        Spread<Cells> at(first, end, c * Cells::threads + threadIdx.x);
        to[c] = {epilogue, out, out_distance, at.item, at.cell, at.live};
        if (!to[0].live) return;
        from[c] = at.live ? in + at.item * in_distance + at.cell : from[0];
    }
    if constexpr (Rns::fewest == 0) {
        convert_many(from[0], table, to[0], (u32)sources, (u32)targets, (u64*)shared + threadIdx.x);
    } else {
        const u64x2* rows = (const u64x2*)table;
        switch ((u32)sources - Rns::fewest) {
            case 0: return convert_few<Rns::fewest>(from, rows, to, (u32)targets);
            case 1: return convert_few<Rns::fewest + 1>(from, rows, to, (u32)targets);
            case 2: return convert_few<Rns::fewest + 2>(from, rows, to, (u32)targets);
            default: return convert_few<Rns::fewest + 3>(from, rows, to, (u32)targets);
        }
    }
}
