// K-PKE.Encrypt of FIPS 203: encrypts messages to ciphertexts, 16 threads per item.
#include "prelude.cuh"

#include "mlkem_encrypt.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mlkem_encrypt(const u8* keys, const u8* messages, const u16* matrix, const u8* streams, u8* ciphertexts,
                  const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    u8* to = ciphertexts + item * ciphertext;
    encrypt(row, keys + item * public_key, messages + item * 32, matrix + item * matrix_words, streams + item * noise, table,
            [&](u32 byte, auto part) {
                if (row.live) *(decltype(part)*)(to + byte) = part;
            });
}
