// Derives shared keys, rejection keys and encryption coins from messages with SHA3-512 and SHAKE-256: one thread per
// item. Coins are the pseudorandom bytes from which polynomials are sampled.
//
// Cost per item for CTRU-768: 23 Keccak permutations, and 1.9 KB of memory traffic.
#include "prelude.cuh"

#include "ctru_hash.cuh"
#include "kem_status.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::item_threads)
    ctru_decapsulate(const u64* secrets, const u64* ciphertexts, const u64* messages, u64* both_keys, u64* coins,
                     u32* status, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64* id = secrets + item * (Set::secret_key / 8) + Set::n * Set::secret_width / 64;
    const u64* z = secrets + (item + 1) * (Set::secret_key / 8) - 4;
    const u64* ciphertext = ciphertexts + item * (Set::ciphertext / 8);
    u64* keys = both_keys + item * 8;
    derive(id, messages + item * (Set::message / 8), keys, coins + item * (Set::encrypt_coins / 8));

    constexpr u32 words = 4 + Set::ciphertext / 8;
    Sha3_512 hash;
    hash.absorb<identity_bytes + 8 * words>([&](u32 i) {
        return after_identity<words>(id, i, [&](u32 j) { return j < 4 ? z[j] : ciphertext[j - 4]; });
    });
    hash.squeeze<4>([&](u32 i, u64 word) { keys[4 + i] = word; });
    if (status[item] == Status::pending) status[item] = Status::half_done;
}
