// K-PKE.KeyGen of FIPS 203: computes key pairs from the matrix and noise streams, with zeros in place of the hash in
// the secret key. 16 threads per item.
#include "prelude.cuh"

#include "mlkem_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mlkem_generate(const u32* seeds, const u32* rho, const u16* matrix, const u8* streams, u8* keys, u8* secrets,
                   const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    auto m = Rq::modulus(nullptr, 0);
    matrix += item * matrix_words;
    streams += item * key_noise;
    u8* key = keys + item * public_key;
    u8* secret = secrets + item * secret_key;
    u8* copy = secret + vector_bytes_12;
    Word s[Set::k][unit], x[unit], y[unit];
    RF_UNROLL
    for (u32 j = 0; j < Set::k; j++) {
        noise_values<Set::eta1>(row, table, streams, s[j]);
        RF_UNROLL
        for (u32 r = 0; r < unit; r++) s[j][r] = m.canonical<value_bound>(s[j][r]);
        pack<12>(row.thread, [&](u32 c) { return s[j][Last::reg(0, c)]; }, [&](u32 byte, u32 part) {
            if (row.live) *(u32*)(secret + j * row_bytes + byte) = part;
        });
        streams += stream_bytes(Set::eta1);
    }
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        Dot dot;
        RF_UNROLL
        for (u32 j = 0; j < Set::k; j++) {
            load_row<Rq, Rq::passes - 1>(x, matrix + (i * Set::k + j) * Rq::n, row.thread, true);
            dot.add(x, s[j]);
        }
        dot.values(table, row.thread, x);
        noise_values<Set::eta1>(row, table, streams, y);
        streams += stream_bytes(Set::eta1);
        RF_UNROLL
        for (u32 r = 0; r < unit; r++) x[r] = m.canonical<value_bound + 2>(x[r] + y[r]);
        pack<12>(row.thread, [&](u32 c) { return x[Last::reg(0, c)]; }, [&](u32 byte, u32 part) {
            if (!row.live) return;
            *(u32*)(key + i * row_bytes + byte) = part;
            *(u32*)(copy + i * row_bytes + byte) = part;
        });
    }
    if (!row.live || row.thread >= 8) return;
    u32* rest = (u32*)(copy + public_key) + row.thread;  // the hash, then the rejection secret z
    ((u32*)(key + vector_bytes_12))[row.thread] = ((u32*)(copy + vector_bytes_12))[row.thread] = rho[item * 8 + row.thread];
    rest[0] = 0;
    rest[8] = seeds[item * 16 + 8 + row.thread];
}
