// Re-encrypts messages, compares the results with the ciphertexts, and selects shared keys or rejection keys (the
// re-encryption check of Fujisaki-Okamoto with implicit rejection).
//
// Cost per item for CTRU-768: the instructions of ctru_encrypt.cu, and 3.2 KB of memory traffic.
#include "prelude.cuh"

#include "ctru_encrypt.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_compare(const u32* secrets, const u32* ciphertexts, const u8* messages, const u32* coins, const u32* both_keys,
                 u32* shared_keys, u32* status, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    const u32* key = secrets + item * (Set::secret_key / 4) + Rq::n * Set::secret_width / 32;
    const u32* ciphertext = ciphertexts + item * (Set::ciphertext / 4);
    const u32 before = status[item];
    u32 difference = 0;
    u32 found = encrypt(row, key, messages + item * Set::message, coins + item * (Set::encrypt_coins / 4), table,
                        [&](u32 i, u32 word) { difference |= word ^ ciphertext[i]; });
    u32 differs = any_in_row<Rq>(difference != 0);
    if (!row.live) return;
    const u32 kept = 0u - (u32)(before == Status::half_done && found == Status::ok);
    const u32* keys = both_keys + item * 16;
    for (u32 i = row.thread; i < 8; i += Rq::threads)
        shared_keys[item * 8 + i] = select(differs, keys[8 + i], keys[i]) & kept;
    if (row.thread == 0 && before == Status::half_done) status[item] = found;
}
