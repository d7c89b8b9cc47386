// Common functions of the kernels on polynomials. 16 threads share an item, and each holds 16 coefficients in one of
// the layouts of ring.cuh. Packing and sampling work on units of 16 adjacent coefficients (`bits.cuh`), one per thread.
// The last pass of a transform also leaves each thread with a unit. Include this header after the prelude.
#pragma once
#include "mlkem_set.cuh"
#include "poly.cuh"
#include "units.cuh"

namespace rf {

using Word = Rq::M::Word;
using Twiddle = Rq::M::Twiddle;
using First = Pass<Rq, 0>;
using Last = Pass<Rq, Rq::passes - 1>;
constexpr u32 leaves = unit / 2;

// SamplePolyCBD of FIPS 203 for a thread's unit of a noise stream. Calls put(c, x) for coefficient c, with x = q + (sum
// of Eta bits) - (sum of the next Eta bits) < q + 4.
template <u32 Eta, class Put>
RF_FN void sample(const u8* stream, u32 thread, Put put) {
    unpack<2 * Eta>(stream, thread, [&](u32 c, u32 bits) {
        constexpr u32 mask = 1u << Eta | 1;
        u32 sums = bits & mask;
        RF_UNROLL
        for (u32 i = 1; i < Eta; i++) sums += bits >> i & mask;
        put(c, q + (sums & ((1u << Eta) - 1)) - (sums >> Eta));
    });
}

// Decompress_D of FIPS 203.   in: y < 2^D   out: y q / 2^D, rounded
template <u32 D>
RF_FN u32 decompress(u32 y) {
    return y * q + (1u << (D - 1)) >> D;
}
// Compress_D of FIPS 203. Multiplies by 2^43 / q, because division is not constant-time.
// in: x < 2^19   out: x 2^D / q, rounded, modulo 2^D
template <u32 D>
RF_FN u32 compress(u32 x) {
    constexpr u32 over_q = (u32)(((1ull << 43) + q - 1) / q);
    return mul_hi((x << D) + q / 2, over_q) >> 11 & ((1u << D) - 1);
}

// Samples a thread's unit of noise, and transforms the polynomial to evaluations < value_bound q.
template <u32 Eta>
RF_FN void noise_values(const Row<Rq>& row, const Twiddle* table, const u8* stream, Word* values) {
    u32 small[unit];
    sample<Eta>(stream, row.thread, [&](u32 c, u32 x) { small[c] = sub_once(x, q); });
    unit_to_values(row, table, [&](u32 c) { return small[c]; }, values);
}

// Bound of the unreduced evaluations after a forward transform, in multiples of q.
constexpr u32 value_bound = ntt_forward_bound<Rq>();

// Inner product of up to k pairs of polynomials, as evaluations: residues modulo the leaf polynomials x^2 - beta. The
// sums stay unreduced in 32-bit words; `values` reduces them once.
struct Dot {
    static_assert((u64)2 * Set::k * 4096 * (value_bound * q) < 1ull << 32, "sums must fit a word");
    u32 even[leaves], odd[leaves], cross[leaves];

    RF_METHOD Dot() {
        RF_UNROLL
        for (u32 i = 0; i < leaves; i++) even[i] = odd[i] = cross[i] = 0;
    }
    // in: a < 4096, b < value_bound q, both in the layout of the last pass
    RF_METHOD void add(const Word* a, const Word* b) {
        RF_UNROLL
        for (u32 i = 0; i < leaves; i++) {
            u32 x = Last::reg(0, 2 * i), y = Last::reg(0, 2 * i + 1);
            even[i] += a[x] * b[x];
            odd[i] += a[y] * b[y];
            cross[i] += a[x] * b[y] + a[y] * b[x];
        }
    }
    // out: evaluations of the sum, < 2q
    RF_METHOD void values(const Twiddle* table, u32 thread, Word* out) const {
        auto m = Rq::modulus(nullptr, 0);
        RF_UNROLL
        for (u32 i = 0; i < leaves; i++) {
            // The leaf polynomial is x^2 - beta: the product of the odd coefficients is multiplied by beta.
            auto beta = table[Tree<Rq>::leaves() + twiddle_slot<Rq, Rq::passes - 1, Rq::layers>(Last::node(thread, 0), i)];
            out[Last::reg(0, 2 * i)] = m.wide_fold(even[i] + m.mul(m.wide_fold(odd[i]), beta));
            out[Last::reg(0, 2 * i + 1)] = m.wide_fold(cross[i]);
        }
    }
};

// Loads a thread's unit of packed 12-bit evaluations, without reduction, in the layout of the last pass.
RF_FN void load_packed(const u8* poly, u32 thread, Word* values) {
    unpack<12>(poly, thread, [&](u32 c, u32 v) { values[Last::reg(0, c)] = v; });
}

}  // namespace rf
