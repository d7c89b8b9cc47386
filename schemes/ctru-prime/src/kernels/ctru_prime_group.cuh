// Keys whose inverses are made together, from one: Set::group keys make a group, and Set::groups groups one inversion.
//
// With P_i = f_0 … f_(i-1), I = 1 / P_(i+1) gives 1 / f_i = I P_i, and 1 / P_i = I f_i for the key before. A public key is
// g_i / f_i = I (g_i P_i), so a group stores the products Q_i = g_i P_i, each of which has a small factor. Of the products
// of a key only I Q_i has two large ones: Q_i is taken as 2^6 times one small polynomial plus another one. Groups are to
// their inversion what keys are to a group, but that all factors are large.
//
// Secrets decide neither how many products are made nor where anything lies. Include it after the prelude.
#pragma once
#include "ctru_prime_ring.cuh"

namespace rf {

// Where the polynomial of an item lies.
RF_FN u64 polynomial_at(u64 item) { return item * Set::n; }

// The items that a row works on: every `Step`-th one, at most `Count` of them.
template <u32 Step, u32 Count>
struct Members {
    u64 base, end;
    u32 count;  // turns: as many for all rows of the block, the first of which has most members
    bool live;

    RF_METHOD Members(const Row<Rq>& row, u64 first, u64 past) {
        base = first + (row.live ? row.index * (Step * Count) : 0);
        end = past;
        live = row.live;
        u64 left = past - first - (u64)blockIdx.x * (Rq::tile * Step * Count);
        u64 members = (left + Step - 1) / Step;
        count = members < Count ? (u32)members : Count;
    }
    // Items up to that of the next member.
    RF_METHOD u32 span(u32 i) const { return end - item(i) < Step ? (u32)(end - item(i)) : Step; }
    RF_METHOD bool has(u32 i) const { return live && base + i * Step < end; }
    // A row beyond the end computes along with its first member, and so does one that has fewer of them than others.
    RF_METHOD u64 item(u32 i) const { return has(i) ? base + i * Step : base; }
};
using Keys = Members<1, Set::group>;
using Groups = Members<Set::group, Set::groups>;
// The row of a launch over the items from first to end, each row with `Items` of them.
template <u32 Items>
RF_FN Row<Rq> row_of(unsigned char* shared, u64 first, u64 end) {
    return Row<Rq>(shared, 0, (end - first + Items - 1) / Items);
}

// in: |x| <= q / 2   out: the numbers h and l with x = 2^6 h + l, -32 <= l < 32
RF_FN i32 high_limb_of(i32 x) { return x + (1 << (Set::limb_bits - 1)) >> Set::limb_bits; }
RF_FN i32 low_limb_of(i32 x) { return x - high_limb_of(x) * (1 << Set::limb_bits); }

// The product modulo q of the large factor at work by a polynomial with coefficients get(c) < q: put(c, coefficient) takes
// it, and may write to cell c. scratch: n words.   All threads of the row call it, and meet at its end.
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

// The large factor at work, of coefficients < q, which threads may have written just now.   All threads of the row call it,
// and meet at its end.
RF_FN void take_words(const Row<Rq>& row, Product& product, const u16* from) {
    sync_row<Rq>();
    product.take(product.large, [&](u32 c) { return centre(from[c]); });
    sync_row<Rq>();
}

// f of a key to cells; 1 for a member that is none.
RF_FN void sample_f(const Row<Rq>& row, const u32* stream, bool live) {
    sample_row(row, stream, [&](i32 f, u32 c) { return (live ? 2 * f : 0) + (c == 0); });
}

// The product of the large factor at work by the polynomial in cells, the same way round: in cells, < q. What a thread reads
// of it, c mod Rq::threads, it may read without a barrier.
RF_FN const u32* multiply_cells(const Row<Rq>& row, Product& product) {
    product.take(product.small, [&](u32 c) { return (i32)cells_of(row)[c]; });
    product.multiply();
    return product.fold(reduce_integer);
}

}  // namespace rf
