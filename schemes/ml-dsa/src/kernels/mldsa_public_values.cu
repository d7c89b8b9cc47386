// The vector -t1 2^13 of the public key as evaluations, from a secret key's: as mldsa_key_values makes it. 16 threads per
// item.
#include "prelude.cuh"

#include "mldsa_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mldsa_public_values(const u32* matrix, const u32* keys, u32* values, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    const u64 item = item_of(row, first);
    matrix += item * matrix_words, keys += item * (polynomials + Set::k) * 256, values += item * Set::k * 256;
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        Word one[unit], s[unit];
        RF_UNROLL
        for (u32 r = 0; r < unit; r++) one[r] = 1;
        Dot dot;
        load_values(row, keys + (Set::l + i) * 256, s);
        dot.add(s, one);
        dot.add(matrix + i * Set::l * 256, keys, row);
        u32 t[unit];
        dot.coefficients(row, table, t);
        store_values(row, table, [&](u32 c) { return minus(0, top(t[c]) << dropped); }, values + i * 256);
    }
}
