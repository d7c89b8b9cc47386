// Expands seeds to the coins of key generation with SHAKE-256: one thread per item. Coins are the pseudorandom bytes
// from which polynomials are sampled.
//
// Cost per item for CTRU-768: 6 Keccak permutations, and 0.8 KB of memory traffic.
#include "keccak.cuh"
#include "kem_status.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::item_threads)
    ctru_expand(const u64* seeds, u64* coins, u32* status, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64* seed = seeds + item * 8;  // 8 words: the seed d, then the rejection secret z
    u64* out = coins + item * (Set::generate_coins / 8);
    Shake256 shake;
    shake.absorb<32>([&](u32 i) { return seed[i]; });
    shake.squeeze<Set::generate_coins / 8>([&](u32 i, u64 word) { out[i] = word; });
    status[item] = Status::pending;
}
