// Encrypts messages with given coins (the pseudorandom bytes from which polynomials are sampled).
#include "prelude.cuh"

#include "ctru_prime_encrypt.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile, resident)
    ctru_prime_encrypt(const u8* keys, const u8* messages, const u32* coins, u8* ciphertexts, const Twiddle* table,
                       u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    encrypt(row, keys + item * Set::public_pitch, messages + item * Set::message_pitch,
            coins + item * (Set::coins_pitch / 4), table);
    if (!row.live) return;
    u8* to = ciphertexts + item * Set::ciphertext;
    move_bytes<Set::ciphertext>(
        row.thread, [&](u32 i) -> u32 { return row.extra[i]; }, [&](u32 i, u32 byte) { to[i] = (u8)byte; });
}
