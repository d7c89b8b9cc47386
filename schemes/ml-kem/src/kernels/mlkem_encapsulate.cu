// First stage of ML-KEM encapsulation: derives shared keys (SHA3-512) and the noise streams of ciphertexts (SHAKE-256)
// from messages and public keys. Copies rho, the public seed of the matrix, from public keys. One thread per item.
#include "prelude.cuh"

#include "mlkem_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mlkem_encapsulate(const u64* keys, const u64* messages, u64* shared_keys, u64* rho, u64* streams, u64 first,
                      u64 end) {
    u64 item = item_of_thread(first);
    if (item >= end) return;
    const u64* key = keys + item * (public_key / 8);
    u64 hash[4];
    copy_rho(key, rho + item * 4);
    hash_key(key, hash);
    derive(messages + item * 4, hash, shared_keys + item * 4, streams + item * (noise / 8));
}
