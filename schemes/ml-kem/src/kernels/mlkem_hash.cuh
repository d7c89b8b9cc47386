// Common functions of the hashing kernels, one thread per item. Include it after the prelude.
#pragma once
#include "keccak.cuh"
#include "mlkem_set.cuh"

namespace rf {

// out: index of the item that the thread processes
RF_FN u64 item_of_thread(u64 first) { return first + (u64)blockIdx.x * Set::hash_threads + threadIdx.x; }

// out: the noise streams (PRF of FIPS 203) of `count` polynomials, with counter bytes number, number + 1, …
template <u32 Eta>
RF_FN void expand(const u64* seed, u32 number, u32 count, u64* out) {
    constexpr u32 words = stream_bytes(Eta) / 8;
    RF_LOOP
    for (u32 n = 0; n < count; n++) {
        Shake256 shake;
        shake.absorb<33>([&](u32 i) { return i < 4 ? seed[i] : (u64)(number + n); });
        shake.squeeze<words>([&](u32 i, u64 word) { out[n * words + i] = word; });
    }
}

// in: a public key   out: its SHA3-256 hash
RF_FN void hash_key(const u64* key, u64* out) {
    Sha3_256 hash;
    hash.absorb<public_key>([&](u32 i) { return key[i]; });
    hash.squeeze<4>([&](u32 i, u64 word) { out[i] = word; });
}

// in: a public key   out: rho, the public seed of the matrix, from the key
RF_FN void copy_rho(const u64* key, u64* rho) {
    RF_UNROLL
    for (u32 i = 0; i < 4; i++) rho[i] = key[vector_bytes_12 / 8 + i];
}

// in: a message and the hash of a public key   out: the shared key, and the noise streams of the ciphertext
RF_FN void derive(const u64* message, const u64* key_hash, u64* shared_key, u64* streams) {
    u64 seed[4];
    Sha3_512 hash;
    hash.absorb<64>([&](u32 i) { return i < 4 ? message[i] : key_hash[i - 4]; });
    hash.squeeze<8>([&](u32 i, u64 word) {
        if (i < 4) shared_key[i] = word;
        else seed[i - 4] = word;
    });
    expand<Set::eta1>(seed, 0, Set::k, streams);
    expand<eta2>(seed, Set::k, Set::k + 1, streams + Set::k * stream_bytes(Set::eta1) / 8);
}

}  // namespace rf
