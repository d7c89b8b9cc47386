// Encrypts messages with given coins (the pseudorandom bytes from which polynomials are sampled).
//
// Cost per item for CTRU-768: 2432 instructions in each of 32 threads, and 3.0 KB of memory traffic.
#include "prelude.cuh"

#include "ctru_encrypt.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_encrypt(const u32* keys, const u8* messages, const u32* coins, u32* ciphertexts, u32* shared_keys, u32* status,
                 const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    u32* ciphertext = ciphertexts + item * (Set::ciphertext / 4);
    u32 found = encrypt(row, keys + item * (Set::public_key / 4), messages + item * Set::message,
                        coins + item * (Set::encrypt_coins / 4), table, [&](u32 i, u32 word) {
                            if (row.live) ciphertext[i] = word;
                        });
    if (!row.live) return;
    if (row.thread == 0 && status[item] == Status::pending) status[item] = found;
    if (found == Status::ok) return;
    // an invalid public key gives a zero ciphertext and a zero shared key
    for (u32 i = row.thread; i < Set::ciphertext / 4; i += Rq::threads) ciphertext[i] = 0;
    for (u32 i = row.thread; i < 8; i += Rq::threads) shared_keys[item * 8 + i] = 0;
}
