// Last stage of key generation: writes the SHA3-256 hash of the public key into the secret key, one thread per item.
#include "prelude.cuh"

#include "mlkem_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mlkem_finish(const u64* keys, u64* secrets, u64 first, u64 end) {
    u64 item = item_of_thread(first);
    if (item >= end) return;
    hash_key(keys + item * (public_key / 8), secrets + (item + 1) * (secret_key / 8) - 8);
}
