// K-PKE.Encrypt of FIPS 203 for one item. Include it after the prelude.
#pragma once
#include "mlkem_ring.cuh"

namespace rf {

// Encrypts a message with the noise sampled from `streams`. Calls put(byte offset, part) for each part of the
// ciphertext, a word of 16 or 32 bits, in any order.
template <class Put>
RF_FN void encrypt(const Row<Rq>& row, const u8* key, const u8* message, const u16* matrix, const u8* streams,
                   const Twiddle* table, Put put) {
    Word r[Set::k][unit], x[unit];
    RF_UNROLL
    for (u32 j = 0; j < Set::k; j++) {
        noise_values<Set::eta1>(row, table, streams, r[j]);
        streams += stream_bytes(Set::eta1);
    }
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        Dot dot;
        RF_UNROLL
        for (u32 j = 0; j < Set::k; j++) {
            load_row<Rq, Rq::passes - 1>(x, matrix + (i * Set::k + j) * Rq::n, row.thread, true);
            dot.add(x, r[j]);
        }
        u32 sum[unit];
        dot.values(table, row.thread, x);
        values_to_unit(row, table, x, sum);
        sample<eta2>(streams, row.thread, [&](u32 c, u32 e) { sum[c] = compress<Set::du>(sum[c] + e); });
        pack<Set::du>(row.thread, [&](u32 c) { return sum[c]; },
                      [&](u32 byte, auto part) { put(i * ciphertext_u + byte, part); });
        streams += stream_bytes(eta2);
    }
    Dot dot;
    RF_UNROLL
    for (u32 j = 0; j < Set::k; j++) {
        load_packed(key + j * row_bytes, row.thread, x);
        dot.add(x, r[j]);
    }
    u32 sum[unit];
    dot.values(table, row.thread, x);
    values_to_unit(row, table, x, sum);
    sample<eta2>(streams, row.thread, [&](u32 c, u32 e) { sum[c] += e; });
    unpack<1>(message, row.thread,
              [&](u32 c, u32 bit) { sum[c] = compress<Set::dv>(sum[c] + (bit * ((q + 1) / 2))); });
    pack<Set::dv>(row.thread, [&](u32 c) { return sum[c]; },
                  [&](u32 byte, auto part) { put(Set::k * ciphertext_u + byte, part); });
}

}  // namespace rf
