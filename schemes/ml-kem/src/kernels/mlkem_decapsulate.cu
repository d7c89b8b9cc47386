// Stage of ML-KEM decapsulation between decryption and re-encryption. Derives both shared keys (agreed and rejected)
// and the noise streams of ciphertexts from decrypted messages, secret keys and ciphertexts. Copies rho, the public
// seed of the matrix, from secret keys. One thread per item.
#include "prelude.cuh"

#include "mlkem_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mlkem_decapsulate(const u64* secrets, const u64* ciphertexts, const u64* messages, u64* both_keys, u64* rho,
                      u64* streams, u64 first, u64 end) {
    u64 item = item_of_thread(first);
    if (item >= end) return;
    const u64* key_hash = secrets + (item + 1) * (secret_key / 8) - 8;
    const u64* z = key_hash + 4;
    const u64* sent = ciphertexts + item * (ciphertext / 8);
    u64* keys = both_keys + item * 8;
    copy_rho(key_hash - public_key / 8, rho + item * 4);
    derive(messages + item * 4, key_hash, keys, streams + item * (noise / 8));
    Shake256 shake;
    shake.absorb<32 + ciphertext>([&](u32 i) { return i < 4 ? z[i] : sent[i - 4]; });
    shake.squeeze<4>([&](u32 i, u64 word) { keys[4 + i] = word; });
}
