// Products modulo x^n - x - 1 over the integers, on tensor cores: a row is a warp. The prelude includes it.
//
// The large factor, in digits of seven bits, fills the copies; the small one stays in registers. Cells are the sums, until
// a product is made.
#pragma once
#include "ctru_prime_ring.cuh"
#include "toeplitz.cuh"

namespace rf {

using Twiddle = Rq::M::Twiddle;
using Matrix = Toeplitz<Set::n>;
static_assert(Rq::threads == 32 && Rq::row_bytes == Matrix::bytes && Rq::n <= Matrix::sums, "a row must be a warp's");

struct Product {
    static constexpr u32 digit_bits = 7;
    // Sums of folded products, as fold adds them, and digits.
    static_assert((2ull * Set::n - 1) * (q / 2) * 63 < 1u << 30 && q / 2 < 1u << 13, "products must be exact");
    struct Large {};
    struct Small {
        u32 blocks[2 * Matrix::steps];
    };
    const Row<Rq>& row;
    Large large;
    Small small;

    RF_METHOD Product(const Row<Rq>& row, const Twiddle*) : row(row) {}
    template <class Get>
    RF_METHOD void take(Large, Get get) {
        Matrix::store(copies(), row.thread, [&](u32 c, u32& low, u32& high) {
            i32 x = get(c);
            i32 above = x + (1 << (digit_bits - 1)) >> digit_bits;
            high = (u32)above;
            low = (u32)(x - above * (1 << digit_bits));
        });
    }
    template <class Get>
    RF_METHOD void take(Small& factor, Get get) {
        Matrix::load(factor.blocks, row.thread, get);
    }
    // Coefficients are prepared as they are, 16 bits each, zeros behind them.
    template <class Factor, class Get>
    RF_METHOD void prepare(Factor&, Get get, u8* to) {
        if (!row.live) return;
        for (u32 c = row.thread; c < Set::values_bytes / 2; c += Rq::threads)
            ((u16*)to)[c] = c < Set::n ? (u16)get(c) : 0;
    }
    template <class Factor>
    RF_METHOD void take_prepared(Factor& factor, const u8* from) {
        take(factor, [&](u32 c) -> i32 { return ((const short*)from)[c]; });
    }
    RF_METHOD void multiply() {
        sync_row<Rq>();
        for (u32 i = row.thread; i < Matrix::sum_words; i += Rq::threads) cells_of(row)[i] = 0;
        sync_row<Rq>();
        Matrix::multiply<digit_bits>(copies(), small.blocks, (i32*)cells_of(row), row.thread);
    }
    // x^(n + k) = x^(k + 1) + x^k; coefficients beyond that of x^(2n - 2) are zero.
    template <class Get>
    RF_METHOD u32* fold(Get get) {
        const u32* s = cells_of(row);
        auto at = [&](u32 k) { return s[Matrix::place(k)]; };
        for (u32 c = row.thread; c < Set::n; c += Rq::threads)
            copies()[c] = get((i32)(at(c) + at(Set::n + c) + (c == 0 ? 0 : at(Set::n + c - 1))));
        return copies();
    }

   private:
    RF_METHOD u32* copies() const { return cells_of(row) + Matrix::sum_words; }
};
static_assert(8 * Matrix::pitch >= Rq::n / 2, "a product's cells must fit the copies");

}  // namespace rf
