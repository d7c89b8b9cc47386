// Last stage of ML-KEM decapsulation: re-encrypts messages, compares the results with the ciphertexts, and selects the
// shared key without a branch. 16 threads per item.
#include "prelude.cuh"

#include "mlkem_encrypt.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mlkem_compare(const u8* secrets, const u8* ciphertexts, const u8* messages, const u16* matrix, const u8* streams,
                  const u32* both_keys, u32* shared_keys, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    const u8* sent = ciphertexts + item * ciphertext;
    u32 difference = 0;
    encrypt(row, secrets + item * secret_key + vector_bytes_12, messages + item * 32, matrix + item * matrix_words,
            streams + item * noise, table,
            [&](u32 byte, auto part) { difference |= part ^ *(const decltype(part)*)(sent + byte); });
    u32 differs = any_in_row<Rq>(difference != 0);
    const u32* keys = both_keys + item * 16;
    if (row.live && row.thread < 8)
        shared_keys[item * 8 + row.thread] = select(differs, keys[8 + row.thread], keys[row.thread]);
}
