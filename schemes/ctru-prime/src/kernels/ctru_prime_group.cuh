// Batch inversion by Montgomery's trick (1987) in two levels: Set::group keys form a group, and Set::groups groups
// share one inversion.
//
// Let f_i and g_i be the secret polynomials of key i of a group, and P_i = f_0 … f_(i-1). The inverse I = 1 / P_(i+1)
// gives 1 / f_i = I P_i. It also gives 1 / P_i = I f_i, the inverse that key i - 1 needs.
//
// A public key is g_i / f_i = I (g_i P_i), so a group stores the numerators Q_i = g_i P_i. These are products with a
// small operand. Only I Q_i has two large operands, so Q_i is split into limbs: 2^6 times one small polynomial, plus
// another. The products of groups are inverted in the same way as the f of keys, except that all operands are large.
//
// Neither the number of products nor any address depends on secrets. Include this header after the generated header
// prelude.cuh.
#pragma once
#include "ctru_prime_ring.cuh"

namespace rf {

// Offset of an item's polynomial, in coefficients.
RF_FN u64 polynomial_at(u64 item) { return item * Set::n; }

// The items that a row (the threads that share a polynomial) processes one after another: every Step-th item, at most
// Count of them ("members").
template <u32 Step, u32 Count>
struct Members {
    u64 base, end;
    u32 count;  // iterations: the same for all rows of a block, set by the first row, which has the most members
    bool live;

    RF_METHOD Members(const Row<Rq>& row, u64 first, u64 past) {
        base = first + (row.live ? row.index * (Step * Count) : 0);
        end = past;
        live = row.live;
        u64 left = past - first - (u64)blockIdx.x * (Rq::tile * Step * Count);
        u64 members = (left + Step - 1) / Step;
        count = members < Count ? (u32)members : Count;
    }
    // Returns the number of items from member i up to the next member or the end of the launch.
    RF_METHOD u32 span(u32 i) const { return end - item(i) < Step ? (u32)(end - item(i)) : Step; }
    RF_METHOD bool has(u32 i) const { return live && base + i * Step < end; }
    // Returns the item of member i. If the row has no such member, returns its first item, to be recomputed without
    // storing.
    RF_METHOD u64 item(u32 i) const { return has(i) ? base + i * Step : base; }
};
using Keys = Members<1, Set::group>;
using Groups = Members<Set::group, Set::groups>;
// Returns this thread's row in a launch over the items from `first` to `end`, with `Items` items per row.
template <u32 Items>
RF_FN Row<Rq> row_of(unsigned char* shared, u64 first, u64 end) {
    return Row<Rq>(shared, 0, (end - first + Items - 1) / Items);
}

// Split x into limbs, x = 2^6 h + l with -32 <= l < 32: high_limb_of returns h, low_limb_of returns l.
RF_FN i32 high_limb_of(i32 x) { return x + (1 << (Set::limb_bits - 1)) >> Set::limb_bits; }
RF_FN i32 low_limb_of(i32 x) { return x - high_limb_of(x) * (1 << Set::limb_bits); }

// Multiplies the loaded large operand modulo q by a polynomial with coefficients get(c) < q, in two limbs. Passes the
// product to put(c, coefficient), which may write to cell c. `scratch` must have space for n numbers.
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

// Loads the large operand from n coefficients < q at `from`, which other threads may have just written.
// All threads of the `row` must call it. It ends with a barrier.
RF_FN void take_words(const Row<Rq>& row, Product& product, const u16* from) {
    sync_row<Rq>();
    product.take(product.large, [&](u32 c) { return centre(from[c]); });
    sync_row<Rq>();
}

// Samples the f of a key into the cells. If `live` is false (no such key), writes the polynomial 1 instead.
RF_FN void sample_f(const Row<Rq>& row, const u32* stream, bool live) {
    sample_row(row, stream, [&](i32 f, u32 c) { return (live ? 2 * f : 0) + (c == 0); });
}

// Multiplies the loaded large operand by the polynomial in the cells. The product modulo q overwrites the cells, in
// coefficient order. A thread may read cell c without a barrier if c mod Rq::threads is its number.
RF_FN const u32* multiply_cells(const Row<Rq>& row, Product& product) {
    product.take(product.small, [&](u32 c) { return (i32)cells_of(row)[c]; });
    product.multiply();
    return product.fold(reduce_integer);
}

}  // namespace rf
