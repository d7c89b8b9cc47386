// The challenge of an attempt: the hash of mu and the high bits of the commitment, and the polynomial of the hash. One
// thread per item.
#include "prelude.cuh"

#include "mldsa_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mldsa_challenge(const u64* mu, const u64* high, u64* hashes, u32* challenges, u64 first, u64 end) {
    RF_SHARED(shared);
    const u64 item = item_of_thread(first);
    if (item >= end) return;
    mu += item * 8, high += item * (Set::k * high_row / 8), hashes += item * (Set::challenge / 8);
    Shake256 shake;
    shake.absorb<64 + Set::k * high_row>([&](u32 i) { return i < 8 ? mu[i] : high[i - 8]; });
    shake.squeeze<Set::challenge / 8>([&](u32 i, u64 word) { hashes[i] = word; });
    sample_in_ball((const u32*)hashes, shared, challenges + item * challenge_words);
}
