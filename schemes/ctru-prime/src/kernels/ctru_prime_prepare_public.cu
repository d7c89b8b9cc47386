// Public keys to what is prepared of them: their values, then the keys themselves.
#include "prelude.cuh"

#include "ctru_prime_radix.cuh"
using namespace rf;

static_assert(Rq::extra >= Set::public_key, "a key beside the row");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_prepare_public(const u8* keys, u8* prepared, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    const u8* key = keys + item * Set::public_key;
    auto m = Rq::modulus(nullptr, 0);
    u32 y[Rq::per_thread];
    transform_key(row, m, key, y, table);
    store_prepared<Set::public_key>(row, m, y, key, prepared + item * Set::public_pitch);
}
