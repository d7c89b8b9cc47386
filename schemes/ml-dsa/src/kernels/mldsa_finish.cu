// Last stage of key generation: writes tr, the hash of the public key, into the secret key. One thread per item.
#include "prelude.cuh"

#include "mldsa_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mldsa_finish(const u64* public_keys, u64* secret_keys, u64 first, u64 end) {
    const u64 item = item_of_thread(first);
    if (item < end) hash_key(public_keys + item * (public_key / 8), secret_keys + item * (secret_key / 8) + 8);
}
