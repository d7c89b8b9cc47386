// The commitment w = A y of an attempt, and its high bits. `values` keeps the evaluations of y. 16 threads per item.
#include "prelude.cuh"

#include "mldsa_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mldsa_commit(const u32* matrix, const u8* masks, u32* values, u32* commitments, u8* high, const Twiddle* table,
                 u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    const u64 item = item_of(row, first);
    if (!Task::one_key) matrix += item * matrix_words;
    masks += item * Set::l * mask_row, values += item * Set::l * 256;
    commitments += item * Set::k * 256, high += item * Set::k * high_row;
    RF_LOOP
    for (u32 j = 0; j < Set::l; j++) {
        u32 y[unit];
        unpack_below<Set::mask_bits>(gamma1, masks + j * mask_row, row.thread, [&](u32 c, u32 x) { y[c] = x; });
        store_values(row, table, [&](u32 c) { return y[c]; }, values + j * 256);
    }
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        Dot dot;
        dot.add(matrix + i * Set::l * 256, values, row);
        u32 w[unit];
        dot.coefficients(row, table, w);
        if (row.live) Move<u32, unit, 16>::store(commitments + i * 256 + row.thread * unit, [&](u32 c) { return w[c]; });
        store_high(row, [&](u32 c) { return high_bits(w[c]); }, high + i * high_row);
    }
}
