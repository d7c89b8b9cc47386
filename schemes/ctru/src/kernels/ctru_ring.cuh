// Polynomials of key generation and encryption: the ring Rq of the prelude, Z_3457[x]/(x^n - x^(n/2) + 1), and sampling
// of the small polynomials of the parameter set Set. Include it after the prelude.
//
// A row is a polynomial, shared by Rq::threads threads. Layouts are converted through the row's shared memory, as
// 16-bit cells in coefficient order. There a thread takes units of neighbouring coefficients that fill whole words of a
// stream or a packing.
#pragma once
#include "ctru_rows.cuh"
#include "ntt.cuh"
#include "poly.cuh"
#include "sample.cuh"

namespace rf {

using Twiddle = Rq::M::Twiddle;
static_assert(Rq::whole_warps && Rq::row_bytes >= 2 * Rq::n,
              "a row must lie in one warp, and its cells must fit its shared memory");
constexpr u32 q = Set::q;
// Layers of the incomplete NTT of public keys. Its evaluations are stored times 2^16, the Montgomery form of the
// reference code.
constexpr u32 wire_layers = 7;
constexpr i32 montgomery = 3310 - (i32)q, from_montgomery = 2775 - (i32)q;  // 2^16 and its inverse, mod q

RF_FN u16* cells_of(const Row<Rq>& row) { return (u16*)row.shared; }

// Words of a stream for Count coefficients.
RF_FN constexpr u32 stream_words(u32 count) { return count * Set::eta / 16; }
constexpr u32 sample_unit = stream_words(8) * 16 == 8 * Set::eta ? 8 : 16;

// out: coefficients Count * unit … of a stream, in [-eta, eta]
template <u32 Count>
RF_FN void sample_unit_of(const u32* stream, u32 unit, i32* out) {
    u32 words[stream_words(Count)];
    RF_UNROLL
    for (u32 i = 0; i < stream_words(Count); i++) words[i] = stream[unit * stream_words(Count) + i];
    centred_binomial<Set::eta, Count>(words, out);
}

// in: |x| < q   out: x mod q
RF_FN u32 lift(i32 x) { return (u32)(x + (i32)(q & (u32)(x >> 31))); }

// Samples a polynomial from the stream into the cells: Scale times the sample, plus Constant, mod q.
// Scale eta + Constant must be below q.
template <i32 Scale, i32 Constant>
RF_FN void sample_row(const Row<Rq>& row, const u32* stream) {
    for (u32 unit = row.thread; unit < Rq::n / sample_unit; unit += Rq::threads) {
        i32 sample[sample_unit];
        sample_unit_of<sample_unit>(stream, unit, sample);
        if (Constant != 0 && unit == 0) sample[0] = sample[0] * Scale + Constant;
        Move<u16, sample_unit, 16>::store(cells_of(row) + unit * sample_unit, [&](u32 i) {
            return lift(Constant != 0 && unit == 0 && i == 0 ? sample[0] : sample[i] * Scale);
        });
    }
    sync_row<Rq>();
}

}  // namespace rf
