// Repeats key generation for items whose secret polynomial f has no inverse, with new seeds from the device's random
// generator, until f has an inverse or Set::attempts seeds have failed. Skips all other items.
//
// For n = 768, one item in 31 000 needs a retry, and for other n hardly any, so most blocks only read statuses. The run
// time is the latency of one item, whose first thread hashes while its other threads wait.
#include "random.cuh"
#include "keccak.cuh"
#include "prelude.cuh"

#include "ctru_generate.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_retry(const RandomKey* random_key, const u32* seeds, u32* keys, u32* secrets, u32* status, const Twiddle* table, u64 first,
               u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    bool waiting = row.live && status[item] == Status::not_invertible;
    u32* secret = secrets + item * (Set::secret_key / 4);
    for (u32 attempt = 1; attempt < Set::attempts && __any_sync(0xffffffff, waiting); attempt++) {
        // double-buffered: a thread may still read the previous coins while the first thread writes the new coins
        u64* coins = (u64*)row.extra + attempt % 2 * (Set::generate_coins / 8);
        if (waiting && row.thread == 0) {
            u32 block[16];
            random_block(*random_key, item, attempt, block);
            Shake256 shake;
            shake.absorb<32>([&](u32 i) { return join(block[2 * i], block[2 * i + 1]); });
            shake.squeeze<Set::generate_coins / 8>([&](u32 i, u64 word) { coins[i] = word; });
        }
        sync_row<Rq>();
        // other items of this warp run the same code without storing, because all threads must reach its barriers
        Row<Rq> place = row;
        place.live = waiting;
        bool invertible = generate(place, (const u32*)coins, keys + item * (Set::public_key / 4), secret, table);
        if (waiting && invertible) {
            for (u32 i = row.thread; i < 8; i += Rq::threads)
                secret[Set::secret_key / 4 - 8 + i] = seeds[item * 16 + 8 + i];
            if (row.thread == 0) status[item] = Status::ok;
        }
        waiting = waiting && !invertible;
    }
}
