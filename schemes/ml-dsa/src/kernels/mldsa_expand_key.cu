// The vectors s1, s2 and t0 of a secret key as evaluations. 16 threads per item.
#include "prelude.cuh"

#include "mldsa_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mldsa_expand_key(const u8* secret_keys, u32* keys, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    const u64 item = item_of(row, first);
    const u8 *from = secret_keys + item * secret_key + secret_vectors, *dropped_bits = from + polynomials * small_row;
    keys += item * (polynomials + Set::k) * 256;
    u32 x[unit];
    RF_LOOP
    for (u32 j = 0; j < polynomials; j++) {
        unpack_below<Set::small_bits>(Set::eta, from + j * small_row, row.thread, [&](u32 c, u32 s) { x[c] = s; });
        store_values(row, table, [&](u32 c) { return x[c]; }, keys + j * 256);
    }
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        unpack_below<dropped>(1u << (dropped - 1), dropped_bits + i * dropped_row, row.thread, [&](u32 c, u32 t) { x[c] = t; });
        store_values(row, table, [&](u32 c) { return x[c]; }, keys + (polynomials + i) * 256);
    }
}
