// Polynomials of key generation and encryption: the ring Rq, Z_3457[x]/(x^n - x^(n/2) + 1), and sampling of the small
// polynomials of the parameter set Set. Include it after the generated header prelude.cuh, which defines Rq and Set.
//
// Rq::threads threads of one warp share a polynomial; `Row` describes a thread's part in it. The polynomial's shared
// memory holds its coefficients in order, as 16-bit cells, between the register layouts of the NTT and packed words.
// Sampling and packing process units: adjacent coefficients that fill whole 32-bit words.
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
// Layers of the incomplete NTT of public keys. Public keys store its evaluations times 2^16, the Montgomery form of the
// authors' C code.
constexpr u32 wire_layers = 7;
constexpr i32 montgomery = 3310 - (i32)q, from_montgomery = 2775 - (i32)q;  // 2^16 and its inverse, mod q

RF_FN u16* cells_of(const Row<Rq>& row) { return (u16*)row.shared; }

// The number of 32-bit words from which Count coefficients are sampled. The words belong to a stream of coins, the
// pseudorandom bytes for one polynomial.
RF_FN constexpr u32 stream_words(u32 count) { return count * Set::eta / 16; }
constexpr u32 sample_unit = stream_words(8) * 16 == 8 * Set::eta ? 8 : 16;

// Samples the Count coefficients of unit number `unit`, in [-eta, eta], from a stream of coins.
template <u32 Count>
RF_FN void sample_unit_of(const u32* stream, u32 unit, i32* out) {
    u32 words[stream_words(Count)];
    RF_UNROLL
    for (u32 i = 0; i < stream_words(Count); i++) words[i] = stream[unit * stream_words(Count) + i];
    centred_binomial<Set::eta, Count>(words, out);
}

// Returns x mod q, for |x| < q.
RF_FN u32 lift(i32 x) { return (u32)(x + (i32)(q & (u32)(x >> 31))); }

// Samples a polynomial s from a stream of coins, and stores Scale * s + Constant mod q in the 16-bit cells. The
// absolute value of every Scale * s + Constant must be below q. All threads that share the polynomial must call it.
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
