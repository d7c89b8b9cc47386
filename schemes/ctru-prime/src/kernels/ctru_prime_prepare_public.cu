// Prepares public keys for encryption: h as a large operand of a product, followed by the encoded key.
#include "prelude.cuh"

#include "ctru_prime_radix.cuh"
using namespace rf;

static_assert(Rq::extra >= Set::public_key, "shared memory must hold a public key after the row");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_prepare_public(const u8* keys, u8* prepared, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    const u8* key = keys + item * Set::public_key;
    u8* to = prepared + item * Set::public_pitch;
    load_key(row, key);
    Product product(row, table);
    product.prepare(product.large, [&](u32 c) { return centre(cells_of(row)[c]); }, to);
    store_key<Set::public_key>(row, key, to + Set::large_bytes);
}
