// Sizes of a parameter set, derived from the numbers in the prelude's struct Set. Include it after the prelude.
#pragma once
#include "word.cuh"

namespace rf {

constexpr u32 q = 8380417;
constexpr u32 dropped = 13;                              // d of FIPS 204: bits that the public key drops
constexpr u32 gamma1 = 1u << (Set::mask_bits - 1);       // masks are in (-gamma1, gamma1]
constexpr u32 gamma2 = Set::high_bits == 4 ? (q - 1) / 32 : (q - 1) / 88;
constexpr u32 beta = Set::tau * Set::eta;
constexpr u32 polynomials = Set::k + Set::l;             // of the secret vectors s1 and s2

// Bytes of packed polynomials.
constexpr u32 mask_row = 32 * Set::mask_bits, high_row = 32 * Set::high_bits, small_row = 32 * Set::small_bits;
constexpr u32 top_row = 32 * 10, dropped_row = 32 * dropped, hint_row = 32;

constexpr u32 public_key = 32 + Set::k * top_row;        // rho, t1
constexpr u32 secret_vectors = 128;                      // of a secret key, after rho, K and tr: s1, s2, t0
constexpr u32 secret_key = secret_vectors + polynomials * small_row + Set::k * dropped_row;
constexpr u32 hint_bytes = Set::omega + Set::k;
constexpr u32 signature_hints = Set::challenge + Set::l * mask_row;  // of a signature, after the challenge and z
constexpr u32 signature = signature_hints + hint_bytes;
constexpr u32 slot = (signature + 3) / 4 * 4;            // of a signature between kernels, in whole words
constexpr u32 matrix_words = Set::k * Set::l * 256;

// out: index of the item that the thread of a hashing kernel processes
RF_FN u64 item_of_thread(u64 first) { return first + (u64)blockIdx.x * Set::hash_threads + threadIdx.x; }

}  // namespace rf
