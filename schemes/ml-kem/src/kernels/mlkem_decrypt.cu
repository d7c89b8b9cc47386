// K-PKE.Decrypt of FIPS 203: decrypts ciphertexts to messages, 16 threads per item.
#include "prelude.cuh"

#include "mlkem_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mlkem_decrypt(const u8* secrets, const u8* ciphertexts, u8* messages, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    const u8* sent = ciphertexts + item * ciphertext;
    const u8* secret = secrets + item * secret_key;
    Word x[unit], y[unit];
    u32 sum[unit];
    Dot dot;
    RF_LOOP
    for (u32 j = 0; j < Set::k; j++) {
        unpack<Set::du>(sent + j * ciphertext_u, row.thread, [&](u32 c, u32 u) { sum[c] = decompress<Set::du>(u); });
        unit_to_values(row, table, [&](u32 c) { return sum[c]; }, y);
        load_packed(secret + j * row_bytes, row.thread, x);
        dot.add(x, y);
    }
    dot.values(table, row.thread, x);
    values_to_unit(row, table, x, sum);
    unpack<Set::dv>(sent + Set::k * ciphertext_u, row.thread,
                    [&](u32 c, u32 v) { sum[c] = compress<1>(q + decompress<Set::dv>(v) - sum[c]); });
    pack<1>(row.thread, [&](u32 c) { return sum[c]; }, [&](u32 byte, u16 part) {
        if (row.live) *(u16*)(messages + item * 32 + byte) = part;
    });
}
