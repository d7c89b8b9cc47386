// Products modulo x^n - x - 1 over the integers, by NTTs: a cyclic product in the ring Rq, which has at least 2n - 1
// coefficients. Its prime exceeds twice the absolute value of any product coefficient. prelude.cuh includes this
// header.
//
// Cells hold operands in coefficient order before they are loaded to registers, and then the product. The upper half of
// an operand is zero and never stored.
#pragma once
#include "ctru_prime_ring.cuh"
#include "ntt.cuh"
#include "poly.cuh"

namespace rf {

using Twiddle = Rq::M::Twiddle;
// Blocks that should reside on a multiprocessor, limited by registers. Two operands and their addresses need 128
// registers per thread if it holds up to 24 coefficients of each operand, and 255 for more.
constexpr u32 resident = (Rq::per_thread <= 24 ? 512 : 256) / (Rq::threads * Rq::tile);
// No barrier precedes a transform, because the first exchange between threads in it begins with one.
static_assert(Rq::passes > 1 && !Rq::shuffles, "transforms must exchange through shared memory");

// Returns x modulo the prime of m, for |x| < the prime.
RF_FN u32 lift(const Rq::M& m, i32 x) { return (u32)x + (m.q & (u32)(x >> 31)); }

// Loads an operand of degree < n into registers, in the layout of the first pass. Thread c % Rq::threads calls get(c)
// for coefficient c, which must be reduced modulo the prime.
template <class Get>
RF_FN void load_factor(u32* x, u32 thread, Get get) {
    using S = Pass<Rq, 0>;
    static_assert(Rq::layer[0] == 2 && S::run == 1 && S::vector == 1 && S::runs == S::sets * S::span,
                  "the first layer must combine the two halves");
    static_assert(S::stride % Rq::threads == 0, "coefficient c must belong to thread c % Rq::threads");
    RF_UNROLL
    for (u32 i = 0; i < S::runs; i++) {
        u32 c = S::run_start(thread, i);
        x[S::reg(i, 0)] = i % S::span < S::span / 2 && c < Set::n ? get(c) : 0;
    }
}

// Multiplies two operands given by their evaluations x and y. Writes the product over the integers, not yet reduced
// modulo x^n - x - 1, to the cells. x is overwritten. All threads of the `row` must call it. It ends with a barrier.
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

// The two operands of a product, as evaluations. A product overwrites the small operand and keeps the large one.
struct Product {
    struct Factor {
        u32 values[Rq::per_thread];
    };
    const Row<Rq>& row;
    const Twiddle* table;
    Rq::M m = Rq::modulus(nullptr, 0);
    Factor large, small;

    RF_METHOD Product(const Row<Rq>& row, const Twiddle* table) : row(row), table(table) {}
    template <class Get>
    RF_METHOD void take(Factor& factor, Get get) {
        load_factor(factor.values, row.thread, [&](u32 c) { return lift(m, get(c)); });
        ntt_forward<Rq>(m, factor.values, table, row.shared, row.thread);
    }
    // Writes the prepared form of an operand: its evaluations, below the prime.
    template <class Get>
    RF_METHOD void prepare(Factor& factor, Get get, u8* to) {
        take(factor, get);
        RF_UNROLL
        for (u32 r = 0; r < Rq::per_thread; r++)
            factor.values[r] = m.canonical<ntt_forward_bound<Rq>()>(factor.values[r]);
        store_row<Rq, Rq::passes - 1>(factor.values, (u32*)to, row.thread, row.live);
    }
    RF_METHOD void take_prepared(Factor& factor, const u8* from) {
        load_row<Rq, Rq::passes - 1>(factor.values, (const u32*)from, row.thread, true);
    }
    RF_METHOD void multiply() { multiply_transformed(row, m, small.values, large.values, table); }
    // Reduces the product by x^(n + k) = x^(k + 1) + x^k. Coefficients above that of x^(2n - 2) are zero. A thread
    // reads cells of other threads only from n on and writes only below n, so no barrier is needed.
    template <class Get>
    RF_METHOD u32* fold(Get get) {
        u32* s = cells_of(row);
        for (u32 c = row.thread; c < Set::n; c += Rq::threads)
            s[c] = get((i32)(s[c] + s[Set::n + c] + (c == 0 ? 0 : s[Set::n + c - 1])));
        return s;
    }
};

}  // namespace rf
