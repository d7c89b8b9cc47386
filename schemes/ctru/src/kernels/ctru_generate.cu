// Generates key pairs from coins (the pseudorandom bytes from which polynomials are sampled): samples f and g, and
// computes the public polynomial h = g / f in the NTT domain.
//
// Cost per item for CTRU-768: 2912 instructions in each of 32 threads, and 3.6 KB of memory traffic.
#include "prelude.cuh"

#include "ctru_generate.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_generate(const u32* seeds, const u32* coins, u32* keys, u32* secrets, u32* status, const Twiddle* table,
                  u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    u32* secret = secrets + item * (Set::secret_key / 4);
    bool invertible = generate(row, coins + item * (Set::generate_coins / 4), keys + item * (Set::public_key / 4),
                               secret, table);
    if (!row.live) return;
    const u32 kept = 0u - (u32)invertible;
    // copies z, the last 32 bytes of the item's seeds, to the last 32 bytes of the secret key
    for (u32 i = row.thread; i < 8; i += Rq::threads)
        secret[Set::secret_key / 4 - 8 + i] = seeds[item * 16 + 8 + i] & kept;
    if (row.thread == 0 && status[item] == Status::pending)
        status[item] = invertible ? Status::ok : Status::not_invertible;
}
