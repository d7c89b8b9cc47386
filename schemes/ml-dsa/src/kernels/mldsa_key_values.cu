// The vector -t1 2^13 of a public key as evaluations. 16 threads per item.
#include "prelude.cuh"

#include "mldsa_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mldsa_key_values(const u8* public_keys, u32* values, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    const u64 item = item_of(row, first);
    const u8* from = public_keys + item * public_key + 32;
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        u32 t[unit];
        unpack<10>(from + i * top_row, row.thread, [&](u32 c, u32 bits) { t[c] = minus(0, bits << dropped); });
        store_values(row, table, [&](u32 c) { return t[c]; }, values + (item * Set::k + i) * 256);
    }
}
