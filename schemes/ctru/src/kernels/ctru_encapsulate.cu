// Derives messages, shared keys and encryption coins from seeds with SHAKE-256 and SHA3-512: one thread per item. Coins
// are the pseudorandom bytes from which polynomials are sampled.
//
// Cost per item for CTRU-768: 9 Keccak permutations, and 0.9 KB of memory traffic.
#include "prelude.cuh"

#include "ctru_hash.cuh"
#include "kem_status.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::item_threads)
    ctru_encapsulate(const u64* keys, const u64* seeds, u64* messages, u64* coins, u64* shared_keys, u32* status, u64 first,
                     u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64* seed = seeds + item * 4;
    u64* message = messages + item * (Set::message / 8);
    Shake256 shake;
    shake.absorb<32>([&](u32 i) { return seed[i]; });
    shake.squeeze<Set::message / 8>([&](u32 i, u64 word) { message[i] = word; });
    derive(keys + item * (Set::public_key / 8), message, shared_keys + item * 4, coins + item * (Set::encrypt_coins / 8));
    status[item] = Status::pending;
}
