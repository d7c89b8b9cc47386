// Derives messages, shared keys and encryption coins from seeds with SHAKE-256 and SHA3-512: one thread per item. Coins
// are the pseudorandom bytes from which polynomials are sampled.
#include "prelude.cuh"

#include "ctru_prime_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    ctru_prime_encapsulate(const u8* keys, const u64* seeds, u64* messages, u64* coins, u64* shared_keys, u64 first,
                           u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64* seed = seeds + item * 4;
    u64* message = messages + item * message_words;
    constexpr u64 last = ~0ull >> (Set::message_pitch - Set::message) * 8;
    Shake256 shake;
    shake.absorb<32>([&](u32 i) { return seed[i]; });
    shake.squeeze<message_words>(
        [&](u32 i, u64 word) { message[i] = i == message_words - 1 ? word & last : word; });
    // public keys are not aligned to words, so their first 33 bytes are read one by one
    const u8* key = keys + item * Set::public_pitch + Set::large_bytes;
    auto id = [&](u32 i) {
        u64 word = 0;
        RF_UNROLL
        for (u32 j = 0; j < 8; j++)
            if (8 * i + j < identity_bytes) word |= (u64)key[8 * i + j] << 8 * j;
        return word;
    };
    derive(id, message, shared_keys + item * 4, coins + item * coins_words);
}
