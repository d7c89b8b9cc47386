// Key generation of FIPS 204 from rho, K, the matrix and the secret vectors, with zeros in place of tr in the secret
// key. `values` keeps the evaluations of s1. 16 threads per item.
#include "prelude.cuh"

#include "mldsa_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mldsa_generate(const u32* rho, const u32* key, const u32* matrix, const u8* small, u32* values, u8* public_keys,
                   u8* secret_keys, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    const u64 item = item_of(row, first);
    u8 *to_public = public_keys + item * public_key, *to_secret = secret_keys + item * secret_key;
    small += item * polynomials * 256, values += item * Set::l * 256, matrix += item * matrix_words;
    u8* dropped_bits = to_secret + secret_vectors + polynomials * small_row;
    RF_LOOP
    for (u32 j = 0; j < polynomials; j++) {
        const u8* s = small + j * 256 + row.thread * unit;
        pack<Set::small_bits>(row.thread, [&](u32 c) { return (u32)s[c]; }, [&](u32 byte, auto part) {
            if (row.live) *(decltype(part)*)(to_secret + secret_vectors + j * small_row + byte) = part;
        });
        if (j < Set::l)
            store_values(row, table, [&](u32 c) { return sub_once(q + Set::eta - s[c], q); }, values + j * 256);
    }
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        Dot dot;
        dot.add(matrix + i * Set::l * 256, values, row);
        u32 t[unit];
        dot.coefficients(row, table, t);
        const u8* error = small + (Set::l + i) * 256 + row.thread * unit;
        RF_UNROLL
        for (u32 c = 0; c < unit; c++) t[c] = sub_once(sub_once(t[c] + q + Set::eta - error[c], q), q);
        pack<10>(row.thread, [&](u32 c) { return top(t[c]); }, [&](u32 byte, u32 part) {
            if (row.live) *(u32*)(to_public + 32 + i * top_row + byte) = part;
        });
        // t0 is stored as 2^12 - t0
        pack<dropped>(row.thread, [&](u32 c) { return (1u << (dropped - 1)) + (top(t[c]) << dropped) - t[c]; },
                      [&](u32 byte, u16 part) {
                          if (row.live) *(u16*)(dropped_bits + i * dropped_row + byte) = part;
                      });
    }
    if (!row.live) return;
    u32 *head = (u32*)to_secret, *of_public = (u32*)to_public;
    head[16 + row.thread] = 0;
    if (row.thread >= 8) return;
    of_public[row.thread] = head[row.thread] = rho[item * 8 + row.thread];
    head[8 + row.thread] = key[item * 8 + row.thread];
}
