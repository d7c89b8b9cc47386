// Re-encrypts messages, compares the results with the ciphertexts, and selects shared keys or rejection keys (the
// re-encryption check of Fujisaki-Okamoto with implicit rejection).
#include "prelude.cuh"

#include "ctru_prime_encrypt.cuh"
#include "kem_status.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile, resident)
    ctru_prime_compare(const u8* keys, const u8* ciphertexts, const u8* messages, const u32* coins,
                       const u32* both_keys, u32* status, u32* shared_keys, const Twiddle* table, u64 first,
                       u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    // the encoded public key within the item's secret key, or h as an operand of a product, which all items share
    const u8* key = Set::one_key ? keys : keys + item * Set::secret_key + Set::pke_key;
    encrypt(row, key, messages + item * Set::message_pitch,
            coins + item * (Set::coins_pitch / 4), table);
    u32 difference = 0;
    const u8* ciphertext = ciphertexts + item * Set::ciphertext;
    move_bytes<Set::ciphertext>(
        row.thread, [&](u32 i) -> u32 { return row.extra[i] ^ ciphertext[i]; }, [&](u32, u32 byte) { difference |= byte; });
    // all threads read the status before the barrier in least_in_row; thread 0 writes it after that barrier
    const bool sound = status[item] == Status::half_done;
    u32 agrees = least_in_row(row, difference == 0, cells_of(row));
    if (!row.live) return;
    const u32 kept = 0u - (u32)sound;
    const u32* candidates = both_keys + item * 16;
    for (u32 i = row.thread; i < 8; i += Rq::threads)
        shared_keys[item * 8 + i] = select(agrees, candidates[i], candidates[8 + i]) & kept;
    if (row.thread == 0 && sound) status[item] = Status::ok;
}
