// The seed rho'' of a signature's masks: the hash of K, 32 random bytes and mu. One thread per item.
#include "keccak.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mldsa_begin(const u64* secret_keys, const u64* random, const u64* mu, u64* seeds, u64 first, u64 end) {
    const u64 item = item_of_thread(first);
    if (item >= end) return;
    const u64* key = secret_keys + (Task::one_key ? 0 : item * (secret_key / 8)) + 4;
    Shake256 shake;
    shake.absorb<128>([&](u32 i) { return i < 4 ? key[i] : i < 8 ? random[item * 4 + i - 4] : mu[item * 8 + i - 8]; });
    shake.squeeze<8>([&](u32 i, u64 word) { seeds[item * 8 + i] = word; });
}
