// Prepares secret keys for decryption: f as a small operand of a product, followed by the encoded key.
#include "prelude.cuh"

#include "ctru_prime_secret.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_prepare_secret(const u8* keys, u8* prepared, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    const u8* key = keys + item * Set::secret_key;
    u8* to = prepared + item * Set::secret_pitch;
    load_secret(row, key);
    Product product(row, table);
    product.prepare(product.small, [&](u32 c) { return (i32)cells_of(row)[c]; }, to);
    store_key<Set::secret_key>(row, key, to + Set::small_bytes);
}
