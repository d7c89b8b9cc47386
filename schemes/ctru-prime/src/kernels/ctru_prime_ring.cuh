// Products modulo x^n - x - 1 over the integers, by one cyclic product Rq of at least 2n - 1 coefficients modulo a prime
// beyond twice any of them; small polynomials. Include it after the prelude.
//
// Cells are the row's shared memory as words: factors in coefficient order on their way to registers, and products on
// their way back. The upper half of a factor is zero and never stored.
#pragma once
#include "ntt.cuh"
#include "poly.cuh"
#include "sample.cuh"
#include "shoup32.cuh"

namespace rf {

using Twiddle = Rq::M::Twiddle;
constexpr u32 q = Set::q, half = Rq::n / 2;
static_assert(Set::n <= half && 2 * Set::n <= Rq::n && Rq::row_bytes >= 4 * Rq::n, "a product must fit the row");
static_assert(Rq::threads % 32 == 0, "warps must not share rows");
// Kernels leave out barriers before a transform, for its first exchange begins with one.
static_assert(Rq::passes > 1 && !Rq::shuffles, "transforms must exchange through shared memory");

RF_FN u32* cells_of(const Row<Rq>& row) { return (u32*)row.shared; }

// in: |x| < the prime   out: x modulo the prime
RF_FN u32 lift(const Rq::M& m, i32 x) { return (u32)x + (m.q & (u32)(x >> 31)); }

// in: x < q   out: the number of least absolute value that is x mod q
RF_FN i32 centre(u32 x) { return (i32)(x - (q & 0u - (q / 2 - x >> 31))); }

// in: |x| < 2^30   out: x mod q, < q
RF_FN u32 reduce_integer(i32 x) {
    constexpr u32 above = (1u << 30) / q * q, ratio = (u32)((1ull << 32) / q);
    return sub_once(barrett((u32)x + above, q, ratio), q);
}

// A factor to registers, in the layout of the first pass.   in: get(c), the coefficient c < n modulo the prime
// Thread c % Rq::threads gets coefficient c here and in `fold`, so what a thread wrote there it reads back without a barrier.
template <class Get>
RF_FN void load_factor(u32* x, u32 thread, Get get) {
    using S = Pass<Rq, 0>;
    static_assert(Rq::layer[0] == 2 && S::run == 1 && S::vector == 1 && S::runs == S::sets * S::span,
                  "the first layer must join the halves");
    static_assert(S::stride % Rq::threads == 0, "threads must take turns at coefficients");
    RF_UNROLL
    for (u32 i = 0; i < S::runs; i++) {
        u32 c = S::run_start(thread, i);
        x[S::reg(i, 0)] = i % S::span < S::span / 2 && c < Set::n ? get(c) : 0;
    }
}

// in: values of two factors   out: their product over the integers, not folded, in cells.   All threads of the row call it,
// and meet at its end.
RF_FN void multiply_transformed(const Row<Rq>& row, const Rq::M& m, u32* x, const u32* y, const Twiddle* table) {
    using S = Pass<Rq, 0>;
    constexpr u32 bound = ntt_forward_bound<Rq>();
    multiply_values<Rq, bound, bound>(m, x, y, table, row.thread);
    ntt_inverse<Rq, product_bound<Rq>(), true>(m, x, table, row.shared, row.thread);
    sync_row<Rq>();
    RF_UNROLL
    for (u32 i = 0; i < S::runs; i++) {
        u32 s = x[S::reg(i, 0)];
        cells_of(row)[S::run_start(row.thread, i)] = s - (m.q & 0u - (m.q / 2 - s >> 31));
    }
    sync_row<Rq>();
}

// The same with a factor whose coefficients are in registers.
RF_FN void multiply(const Row<Rq>& row, const Rq::M& m, u32* x, const u32* y, const Twiddle* table) {
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    multiply_transformed(row, m, x, y, table);
}

// The same with a factor whose coefficients are in cells, each written by its thread, or the threads having met.
RF_FN void multiply_by_cells(const Row<Rq>& row, const Rq::M& m, const u32* y, const Twiddle* table) {
    u32 x[Rq::per_thread];
    load_factor(x, row.thread, [&](u32 c) { return cells_of(row)[c]; });
    multiply(row, m, x, y, table);
}

// Coefficients of the product modulo x^n - x - 1: put(i, integer) takes them in turn, and may write to cell i: other threads
// read cells from n on alone.
// (x^(n + k) = x^(k + 1) + x^k; coefficients beyond that of x^(2n - 2) are zero.)
template <class Put>
RF_FN void fold(const Row<Rq>& row, Put put) {
    const u32* s = cells_of(row);
    for (u32 i = row.thread; i < Set::n; i += Rq::threads)
        put(i, (i32)(s[i] + s[Set::n + i] + (i == 0 ? 0 : s[Set::n + i - 1])));
}

// Coefficients that fill whole words of a stream.
constexpr u32 sample_unit = Set::eta % 2 == 0 ? 8 : 16, sample_words = sample_unit * Set::eta / 16;
static_assert(Set::coins_pitch >= (Set::n + sample_unit - 1) / sample_unit * sample_words * 4, "units are read whole");

// A small polynomial of a stream to cells: to(coefficient, its place). Some places beyond n are written, too.
// All threads of the row call it, and meet at its end.
template <class To>
RF_FN void sample_row(const Row<Rq>& row, const u32* stream, To to) {
    for (u32 unit = row.thread; unit * sample_unit < Set::n; unit += Rq::threads) {
        u32 words[sample_words];
        i32 sample[sample_unit];
        RF_UNROLL
        for (u32 i = 0; i < sample_words; i++) words[i] = stream[unit * sample_words + i];
        centred_binomial<Set::eta, sample_unit>(words, sample);
        Move<u32, sample_unit, 16>::store(cells_of(row) + unit * sample_unit,
                                          [&](u32 i) { return to(sample[i], unit * sample_unit + i); });
    }
    sync_row<Rq>();
}

// Values as they are prepared, canonical, and the key of `Bytes` bytes behind them, zeros up to a whole vector.
template <u32 Bytes>
RF_FN void store_prepared(const Row<Rq>& row, const Rq::M& m, u32* y, const u8* key, u8* to) {
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) y[r] = m.canonical<ntt_forward_bound<Rq>()>(y[r]);
    store_row<Rq, Rq::passes - 1>(y, (u32*)to, row.thread, row.live);
    if (!row.live) return;
    for (u32 i = row.thread; i < (Bytes + 15) / 16 * 16; i += Rq::threads)
        to[Set::values_bytes + i] = i < Bytes ? key[i] : 0;
}

// The item of a row; threads beyond the end compute along with the first one.
RF_FN u64 item_of(const Row<Rq>& row, u64 first) { return row.live ? row.index : first; }

// out: the least number that a thread of the row has, for all of them.   All threads of the row call it; scratch: a word
// for each of its warps.
RF_FN u32 least_in_row(const Row<Rq>& row, u32 number, u32* scratch) {
    RF_UNROLL
    for (u32 step = 1; step < 32; step *= 2) number = min_word(number, __shfl_xor_sync(0xffffffff, number, step));
    scratch[row.thread / 32] = number;
    sync_row<Rq>();
    RF_UNROLL
    for (u32 warp = 0; warp < Rq::threads / 32; warp++) number = min_word(number, scratch[warp]);
    return number;
}

// Eight numbers of Set::q2_bits bits as two words of 64 bits: the first eight bytes, and those above.
struct Unit {
    static constexpr u32 width = Set::q2_bits, bytes = width;
    u64 low, high;

    RF_METHOD u64 byte(u32 i) const { return (i < 8 ? low >> 8 * i : high >> 8 * (i - 8)) & 0xff; }
    // in: values < 2^width
    RF_FN Unit pack(const u32* values) {
        u64 halves[2] = {0, 0};
        RF_UNROLL
        for (u32 j = 0; j < 8; j++) halves[j / 4] |= (u64)values[j] << width * (j % 4);
        return Unit{halves[0] | halves[1] << 4 * width, halves[1] >> (64 - 4 * width)};
    }
    RF_METHOD void unpack(u32* values) const {
        u64 halves[2] = {low, low >> 4 * width | high << (64 - 4 * width)};
        RF_UNROLL
        for (u32 j = 0; j < 8; j++) values[j] = (u32)(halves[j / 4] >> width * (j % 4)) & ((1u << width) - 1);
    }
};
constexpr u32 units = (Set::n + 7) / 8;

}  // namespace rf
