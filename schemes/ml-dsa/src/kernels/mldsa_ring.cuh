// Common functions of the kernels on polynomials. 16 threads share an item, and each holds units of 16 coefficients
// (`units.cuh`). Evaluations in memory are in [0, q). Include this header after the prelude.
#pragma once
#include "mldsa_set.cuh"
#include "units.cuh"

namespace rf {

using Word = Rq::M::Word;
using Twiddle = Rq::M::Twiddle;
constexpr u32 last_pass = Rq::passes - 1;

// in: a thread's unit of coefficients get(c) < q   out: evaluations < q
template <class Get>
RF_FN void to_values(const Row<Rq>& row, const Twiddle* table, Get get, Word* values) {
    unit_to_values(row, table, get, values);
    auto m = Rq::modulus(nullptr, 0);
    RF_UNROLL
    for (u32 r = 0; r < unit; r++) values[r] = m.canonical<ntt_forward_bound<Rq>()>(values[r]);
}

// The same, stored in memory.
template <class Get>
RF_FN void store_values(const Row<Rq>& row, const Twiddle* table, Get get, u32* to) {
    Word values[unit];
    to_values(row, table, get, values);
    store_row<Rq, last_pass>(values, to, row.thread, row.live);
}

RF_FN void load_values(const Row<Rq>& row, const u32* from, Word* values) {
    load_row<Rq, last_pass>(values, from, row.thread, true);
}

// An inner product of up to eight pairs of polynomials, as evaluations.
struct Dot {
    u64 sums[unit];

    RF_METHOD Dot() {
        RF_UNROLL
        for (u32 r = 0; r < unit; r++) sums[r] = 0;
    }
    // in: a, b < q
    RF_METHOD void add(const Word* a, const Word* b) {
        RF_UNROLL
        for (u32 r = 0; r < unit; r++) sums[r] = mad_wide(a[r], b[r], sums[r]);
    }
    // The same for two vectors of l polynomials in memory.
    RF_METHOD void add(const u32* a, const u32* b, const Row<Rq>& row) {
        RF_LOOP
        for (u32 j = 0; j < Set::l; j++) {
            Word x[unit], y[unit];
            load_row<Rq, last_pass>(x, a + j * 256, row.thread, true);
            load_row<Rq, last_pass>(y, b + j * 256, row.thread, true);
            add(x, y);
        }
    }
    // out: evaluations of the sum, < 2q, without the product factor
    RF_METHOD void values(Word* out) const {
        auto m = Rq::modulus(nullptr, 0);
        RF_UNROLL
        for (u32 r = 0; r < unit; r++) out[r] = m.wide_fold(sums[r]);
    }
    // out: a thread's unit of the sum's coefficients, < q
    RF_METHOD void coefficients(const Row<Rq>& row, const Twiddle* table, u32* out) const {
        Word sum[unit];
        values(sum);
        values_to_unit(row, table, sum, out);
    }
};

// The product of two polynomials.   in: evaluations < q; b in memory   out: coefficients < q, a thread's unit of them, or
// if First, in the layout of the first pass
template <bool First>
RF_FN void product(const Row<Rq>& row, const Twiddle* table, const Word* a, const u32* b, u32* out) {
    Word values[unit];
    load_values(row, b, values);
    Dot dot;
    dot.add(a, values);
    if constexpr (First) {
        dot.values(out);
        ntt_inverse<Rq, 2, true>(Rq::modulus(nullptr, 0), out, table, row.shared, row.thread);
    } else {
        dot.coefficients(row, table, out);
    }
}

// in: x <= y + q   out: y - x modulo q, < q, for y < q
RF_FN u32 minus(u32 y, u32 x) { return sub_once(y + q - x, q); }
// in: x < q   out: 1 if the representative of x in (-q/2, q/2] has an absolute value of at least `bound`, else 0
RF_FN u32 is_large(u32 x, u32 bound) { return (u32)(x >= bound) & (u32)(q - x >= bound); }

// Power2Round of FIPS 204: t1, with t - t1 2^13 in (-2^12, 2^12].   in: t < q
RF_FN u32 top(u32 t) { return (t + (1u << (dropped - 1)) - 1) >> dropped; }

// A challenge (`mldsa_hash.cuh`) as evaluations < q.
RF_FN void challenge_values(const Row<Rq>& row, const Twiddle* table, const u32* challenge, Word* values) {
    const u32 by = row.thread % 2 * 16, filled = challenge[row.thread / 2] >> by, negative = challenge[8 + row.thread / 2] >> by;
    to_values(row, table, [&](u32 c) { return (filled >> c & 1) + (negative >> c & 1) * (q - 2); }, values);
}

// Calls put(c, x) for a thread's unit of a packed polynomial with coefficients `most` - x of D bits, with the residue x.
template <u32 D, class Put>
RF_FN void unpack_below(u32 most, const u8* poly, u32 thread, Put put) {
    unpack<D>(poly, thread, [&](u32 c, u32 bits) { put(c, sub_once(q + most - bits, q)); });
}

// HighBits of FIPS 204: the nearest multiple of 2 gamma2, divided by 2 gamma2, modulo (q - 1) / (2 gamma2). By a
// multiplication, since division is not constant-time: first by 2^-7, rounded up, then by 2^7 / (2 gamma2).
// in: x < q
RF_FN u32 high_bits(u32 x) {
    const u32 y = (x + 127) >> 7;
    if constexpr (Set::high_bits == 4) return (y * 1025 + (1u << 21)) >> 22 & 15;
    const u32 high = (y * 11275 + (1u << 23)) >> 24;
    return select(high == 44, 0u, high);
}
// LowBits of FIPS 204 for a residue with these high bits.   out: residue < q
RF_FN u32 low_bits(u32 x, u32 high) { return minus(x, high * (2 * gamma2)); }

// Stores a thread's unit of the high bits get(c).
template <class Get>
RF_FN void store_high(const Row<Rq>& row, Get get, u8* to) {
    pack<Set::high_bits>(row.thread, get, [&](u32 byte, u32 part) {
        if (row.live) *(u32*)(to + byte) = part;
    });
}

}  // namespace rf
