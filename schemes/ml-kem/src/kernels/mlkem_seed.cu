// First stage of key generation: derives rho, the public seed of the matrix (SHA3-512), and the noise streams of a key
// pair (SHAKE-256) from the seed d. One thread per item.
#include "prelude.cuh"

#include "mlkem_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mlkem_seed(const u64* seeds, u64* rho, u64* streams, u64 first, u64 end) {
    u64 item = item_of_thread(first);
    if (item >= end) return;
    const u64* d = seeds + item * 8;  // 32 bytes, followed by the rejection secret z
    u64 sigma[4];
    Sha3_512 hash;
    hash.absorb<33>([&](u32 i) { return i < 4 ? d[i] : (u64)Set::k; });
    hash.squeeze<8>([&](u32 i, u64 word) {
        if (i < 4) rho[item * 4 + i] = word;
        else sigma[i - 4] = word;
    });
    expand<Set::eta1>(sigma, 0, 2 * Set::k, streams + item * (key_noise / 8));
}
