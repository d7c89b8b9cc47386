// Hash check of FIPS 203: compares the hash in a secret key with the SHA3-256 hash of the public key in it, one thread
// per item.
#include "prelude.cuh"

#include "kem_status.cuh"
#include "mlkem_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mlkem_check_secret(const u64* secrets, u32* status, u64 first, u64 end) {
    u64 item = item_of_thread(first);
    if (item >= end) return;
    const u64* key = secrets + item * (secret_key / 8) + vector_bytes_12 / 8;
    u64 hash[4], difference = 0;
    hash_key(key, hash);
    RF_UNROLL
    for (u32 i = 0; i < 4; i++) difference |= hash[i] ^ key[public_key / 8 + i];
    status[item] = difference == 0 ? Status::ok : Status::wrong_hash;
}
