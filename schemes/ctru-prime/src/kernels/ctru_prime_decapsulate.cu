// Derives shared keys, rejection keys and encryption coins from messages with SHA3-512 and SHAKE-256: one thread per
// item. Coins are the pseudorandom bytes from which polynomials are sampled.
#include "prelude.cuh"

#include "ctru_prime_hash.cuh"
#include "kem_status.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    ctru_prime_decapsulate(const u64* messages, const u64* rejections, u64* both_keys, u64* coins, u32* status,
                           u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64* rejection = rejections + item * (Set::rejection_pitch / 8);  // identity || z || ciphertext
    u64* keys = both_keys + item * 8;
    derive([&](u32 i) { return rejection[i]; }, messages + item * message_words, keys, coins + item * coins_words);

    Sha3_512 hash;
    hash.absorb<identity_bytes + 32 + Set::ciphertext>([&](u32 i) { return rejection[i]; });
    hash.squeeze<4>([&](u32 i, u64 word) { keys[4 + i] = word; });
    if (status[item] == Status::pending) status[item] = Status::half_done;
}
