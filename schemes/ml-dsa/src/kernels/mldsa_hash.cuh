// The hash of a public key, and SampleInBall. Include it after the prelude.
#pragma once
#include "keccak.cuh"
#include "mldsa_set.cuh"

namespace rf {

// out: tr, the hash of a public key, 8 words
RF_FN void hash_key(const u64* key, u64* tr) {
    Shake256 hash;
    hash.absorb<public_key>([&](u32 i) { return key[i]; });
    hash.squeeze<8>([&](u32 i, u64 word) { tr[i] = word; });
}

// A challenge: a polynomial with tau coefficients 1 or -1, as two masks of 256 bits: of the coefficients that are not 0,
// and of those that are -1. Bit i of a mask is bit i % 32 of word i / 32.
constexpr u32 challenge_words = 16;
// Bytes of shared memory of a thread that samples a challenge: a block of SHAKE-256, the masks, and one word more, so
// that threads in lockstep access different banks.
constexpr u32 ball_bytes = 136 + 64 + 4;

// SampleInBall of FIPS 204.   in: words of the challenge's hash   out: the challenge. Challenges are public, so the
// function may branch.
RF_FN void sample_in_ball(const u32* hash, unsigned char* shared, u32* out) {
    u32* block = (u32*)(shared + threadIdx.x * ball_bytes);
    u32 *filled = block + 34, *negative = filled + 8;
    RF_UNROLL
    for (u32 i = 0; i < challenge_words; i++) filled[i] = 0;
    Shake256 xof;
    xof.absorb<Set::challenge>([&](u32 i) { return join(hash[2 * i], hash[2 * i + 1]); });
    u64 signs;
    u32 at = 136;
    bool begun = false;
    RF_LOOP
    for (u32 i = 256 - Set::tau; i < 256; i++) {
        u32 j;
        do {
            if (at == 136) {
                keccak_f(xof.state);
                RF_UNROLL
                for (u32 w = 0; w < 17; w++) block[2 * w] = low(xof.state[w]), block[2 * w + 1] = high(xof.state[w]);
                // the first eight bytes of the stream are the signs
                at = begun ? 0 : 8;
                if (!begun) signs = xof.state[0];
                begun = true;
            }
            j = block[at / 4] >> 8 * (at % 4) & 255;
            at++;
        } while (j > i);
        const u32 was = filled[j / 32] >> j % 32 & 1, sign = negative[j / 32] >> j % 32 & 1;
        filled[i / 32] |= was << i % 32;
        negative[i / 32] |= sign << i % 32;
        filled[j / 32] |= 1u << j % 32;
        negative[j / 32] = (negative[j / 32] & ~(1u << j % 32)) | (u32)(signs & 1) << j % 32;
        signs >>= 1;
    }
    RF_UNROLL
    for (u32 i = 0; i < challenge_words; i++) out[i] = filled[i];
}

}  // namespace rf
