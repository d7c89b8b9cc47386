// First stage of key generation: expands a seed to rho, the public seed of the matrix; rho', the seed of the secret
// vectors; and K, the key of masks. One thread per item.
#include "keccak.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mldsa_seed(const u64* seeds, u64* rho, u64* rho_secret, u64* key, u64 first, u64 end) {
    const u64 item = item_of_thread(first);
    if (item >= end) return;
    const u64* seed = seeds + item * 4;
    Shake256 shake;
    shake.absorb<34>([&](u32 i) { return i < 4 ? seed[i] : (u64)(Set::k | Set::l << 8); });
    shake.squeeze<16>([&](u32 i, u64 word) {
        if (i < 4) rho[item * 4 + i] = word;
        else if (i < 12) rho_secret[item * 8 + i - 4] = word;
        else key[item * 4 + i - 12] = word;
    });
}
