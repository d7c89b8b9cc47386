// Sizes of a parameter set in bytes, derived from the numbers in the prelude's struct Set. Include it after the
// prelude.
#pragma once
#include "word.cuh"

namespace rf {

constexpr u32 q = 3329;
constexpr u32 eta2 = 2;
constexpr u32 row_bytes = 384;  // per polynomial, 12 bits per coefficient
constexpr u32 vector_bytes_12 = row_bytes * Set::k;

constexpr u32 public_key = vector_bytes_12 + 32;
constexpr u32 secret_key = vector_bytes_12 + public_key + 64;  // vector, public key, hash, z
constexpr u32 ciphertext_u = 32 * Set::du;  // bytes per polynomial
constexpr u32 ciphertext = ciphertext_u * Set::k + 32 * Set::dv;
constexpr u32 matrix_words = Set::k * Set::k * 256;  // words of 16 bits

// Bytes of random stream for noise: per polynomial, per key pair, per ciphertext.
RF_FN constexpr u32 stream_bytes(u32 eta) { return 64 * eta; }
constexpr u32 key_noise = 2 * Set::k * stream_bytes(Set::eta1);
constexpr u32 noise = Set::k * stream_bytes(Set::eta1) + (Set::k + 1) * stream_bytes(eta2);

}  // namespace rf
