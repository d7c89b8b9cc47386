// Products modulo x^n - x - 1 over the integers, on tensor cores: a Toeplitz matrix of the large operand times a matrix
// of the small operand (`toeplitz.cuh`). Each product is computed by one warp. prelude.cuh includes this header.
//
// The large operand has two 7-bit digits per coefficient, which are stored as shifted copies in shared memory. The
// small operand stays in registers. During a product, the cells hold the sums. The copies follow the cells of their
// row; if Rq::one_matrix is true, a block has a single prepared large operand, whose copies follow all rows.
#pragma once
#include "ctru_prime_ring.cuh"
#include "toeplitz.cuh"

namespace rf {

using Twiddle = Rq::M::Twiddle;
using Matrix = Toeplitz<Set::n>;
// Blocks that should reside on a multiprocessor. Shared memory has room for thirteen warps. With one large operand per
// block and n <= 768, sixteen warps fit, in blocks of four, with 128 registers per thread.
constexpr u32 resident = Rq::one_matrix && Matrix::steps <= 3 ? 4 : 1;
constexpr u32 row_words = Matrix::sum_words + (Rq::one_matrix ? 0 : Matrix::copy_words);
static_assert(Rq::threads == 32 && Rq::row_bytes == 4 * row_words && Rq::n <= Matrix::sums,
              "a row must belong to one warp and hold the sums of a product");

struct Product {
    static constexpr u32 digit_bits = 7;
    // Sums reduced modulo x^n - x - 1 must stay below 2^30, and two digits must hold a centred residue.
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
        Matrix::Words words;
        split(words, get);
        Matrix::store(copies(), words, row.thread);
    }
    // Writes the prepared form of the large operand: the words of the first copy of each digit.
    template <class Get>
    RF_METHOD void prepare(Large, Get get, u8* to) {
        Matrix::Words words;
        split(words, get);
        RF_UNROLL
        for (u32 i = 0; i < Matrix::each; i++) {
            u32 w = row.thread + 32 * i;
            RF_UNROLL
            for (u32 d = 0; d < Matrix::digits; d++)
                if (row.live && w < Matrix::pitch) ((u32*)to)[d * Matrix::pitch + w] = words[i][d];
        }
    }
    RF_METHOD void take_prepared(Large, const u8* from) {
        Matrix::store_from(copies(), (const u32*)from, threadIdx.x, Rq::threads * Rq::tile);
        __syncthreads();
    }

    template <class Get>
    RF_METHOD void take(Small& factor, Get get) {
        Matrix::load(factor.blocks, row.thread, get);
    }
    // Writes the prepared form of the small operand: one signed byte per coefficient.
    template <class Get>
    RF_METHOD void prepare(Small& factor, Get get, u8* to) {
        take(factor, get);
        RF_UNROLL
        for (u32 k = 0; k < 2 * Matrix::steps; k++)
            if (row.live) ((u32*)to)[Matrix::word_of_block(row.thread, k)] = factor.blocks[k];
    }
    RF_METHOD void take_prepared(Small& factor, const u8* from) {
        RF_UNROLL
        for (u32 k = 0; k < 2 * Matrix::steps; k++)
            factor.blocks[k] = ((const u32*)from)[Matrix::word_of_block(row.thread, k)];
    }

    RF_METHOD void multiply() {
        sync_row<Rq>();
        Matrix::multiply<digit_bits>(copies(), small.blocks, (i32*)cells_of(row), row.thread);
    }
    // Reduces the product by x^(n + k) = x^(k + 1) + x^k. Coefficients above that of x^(2n - 2) are zero.
    template <class Get>
    RF_METHOD u32* fold(Get get) {
        u32* s = cells_of(row);
        auto at = [&](u32 k) { return s[Matrix::place(k)]; };
        u32 found[(Set::n + Rq::threads - 1) / Rq::threads];
        RF_UNROLL
        for (u32 i = 0; i < sizeof(found) / sizeof(u32); i++) {
            u32 c = row.thread + i * Rq::threads;
            if (c < Set::n) found[i] = get((i32)(at(c) + at(Set::n + c) + (c == 0 ? 0 : at(Set::n + c - 1))));
        }
        sync_row<Rq>();
        RF_UNROLL
        for (u32 i = 0; i < sizeof(found) / sizeof(u32); i++) {
            u32 c = row.thread + i * Rq::threads;
            if (c < Set::n) s[c] = found[i];
        }
        return s;
    }

   private:
    RF_METHOD u32* copies() const {
        if constexpr (!Rq::one_matrix) return cells_of(row) + Matrix::sum_words;
        constexpr u32 row_and_extra = Rq::row_bytes + Rq::extra;
        return (u32*)(row.shared + (Rq::tile - threadIdx.x / Rq::threads) * row_and_extra);
    }
    template <class Get>
    RF_METHOD void split(Matrix::Words& words, Get get) const {
        Matrix::digits_of(words, row.thread, [&](u32 c, u32& low, u32& high) {
            i32 x = get(c);
            i32 above = x + (1 << (digit_bits - 1)) >> digit_bits;
            high = (u32)above;
            low = (u32)(x - above * (1 << digit_bits));
        });
    }
};

}  // namespace rf
