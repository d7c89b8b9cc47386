// Batch inversion by Montgomery's trick (1987) in two levels: Set::group keys form a group, and Set::groups groups
// share one inversion.
//
// Let P_i = f_0 … f_(i-1). The inverse I = 1 / P_(i+1) gives 1 / f_i = I P_i, and 1 / P_i = I f_i for the key before.
//
// A public key is g_i / f_i = I (g_i P_i), so a group stores the numerators Q_i = g_i P_i, a product with a small
// operand. Only I Q_i has two large operands, so Q_i is split into limbs: 2^6 times one small polynomial, plus another.
// Groups relate to their inversion as keys to a group, except that all operands are large.
//
// Neither the number of products nor any address depends on secrets. Include it after the prelude.
#pragma once
#include "ctru_prime_ring.cuh"

namespace rf {

// Offset of an item's polynomial, in coefficients.
RF_FN u64 polynomial_at(u64 item) { return item * Set::n; }

// The items of a row: every `Step`-th one, at most `Count` of them.
template <u32 Step, u32 Count>
struct Members {
    u64 base, end;
    u32 count;  // iterations, equal for all rows of a block; its first row has the most members
    bool live;

    RF_METHOD Members(const Row<Rq>& row, u64 first, u64 past) {
        base = first + (row.live ? row.index * (Step * Count) : 0);
        end = past;
        live = row.live;
        u64 left = past - first - (u64)blockIdx.x * (Rq::tile * Step * Count);
        u64 members = (left + Step - 1) / Step;
        count = members < Count ? (u32)members : Count;
    }
    // The number of items from member i up to the next member.
    RF_METHOD u32 span(u32 i) const { return end - item(i) < Step ? (u32)(end - item(i)) : Step; }
    RF_METHOD bool has(u32 i) const { return live && base + i * Step < end; }
    // Rows past the end, and rows with fewer members than others, recompute their first member.
    RF_METHOD u64 item(u32 i) const { return has(i) ? base + i * Step : base; }
};
using Keys = Members<1, Set::group>;
using Groups = Members<Set::group, Set::groups>;
// This thread's row in a launch over the items from first to end, with `Items` of them per row.
template <u32 Items>
RF_FN Row<Rq> row_of(unsigned char* shared, u64 first, u64 end) {
    return Row<Rq>(shared, 0, (end - first + Items - 1) / Items);
}

// in: |x| <= q / 2   out: the limbs h and l of x = 2^6 h + l, -32 <= l < 32
RF_FN i32 high_limb_of(i32 x) { return x + (1 << (Set::limb_bits - 1)) >> Set::limb_bits; }
RF_FN i32 low_limb_of(i32 x) { return x - high_limb_of(x) * (1 << Set::limb_bits); }

// Multiplies the loaded large operand modulo q by a polynomial with coefficients get(c) < q, limb by limb. The product
// goes to put(c, coefficient), which may write to cell c. scratch: n words
template <class Get, class Put>
RF_FN void multiply_large(const Row<Rq>& row, Product& product, u16* scratch, Get get, Put put) {
    RF_LOOP
    for (u32 limb = 0; limb < 2; limb++) {
        product.take(product.small, [&](u32 c) {
            i32 x = centre(get(c));
            return limb == 0 ? high_limb_of(x) : low_limb_of(x);
        });
        product.multiply();
        const u32* cells = product.fold(reduce_integer);
        for (u32 c = row.thread; c < Set::n; c += Rq::threads) {
            u32 found = cells[c];
            if (limb == 0) scratch[c] = (u16)found;
            else put(c, reduce_integer((i32)(found + ((u32)scratch[c] << Set::limb_bits))));
        }
    }
    sync_row<Rq>();
}

// Loads a large operand with coefficients < q, which other threads may have just written.
// All threads of the `row` must call it. It ends with a barrier.
RF_FN void take_words(const Row<Rq>& row, Product& product, const u16* from) {
    sync_row<Rq>();
    product.take(product.large, [&](u32 c) { return centre(from[c]); });
    sync_row<Rq>();
}

// Samples the f of a key into the cells; 1 if the member does not exist.
RF_FN void sample_f(const Row<Rq>& row, const u32* stream, bool live) {
    sample_row(row, stream, [&](i32 f, u32 c) { return (live ? 2 * f : 0) + (c == 0); });
}

// Multiplies the loaded large operand by the polynomial in the cells. The product, < q, replaces it in coefficient
// order. A thread may read the cells c = thread mod Rq::threads without a barrier.
RF_FN const u32* multiply_cells(const Row<Rq>& row, Product& product) {
    product.take(product.small, [&](u32 c) { return (i32)cells_of(row)[c]; });
    product.multiply();
    return product.fold(reduce_integer);
}

}  // namespace rf
