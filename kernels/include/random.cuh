// Counter-based random generator: the block function of ChaCha20 (RFC 8439, section 2.3) with a key from the host, one
// block per thread.
//
// The block for (item, number) has counter `item` and nonce `number`, 64 bits each, as in the cipher's original form.
// The upper half of the number is a stream id: 0 for attempts, others for samplers. The host makes a new key for each
// run, so blocks never repeat, within a run or between runs.
#pragma once
#include "word.cuh"

namespace rf {

// The key of a run, written by the host's `ringforge::RandomKey`.
struct RandomKey {
    u32 key[8];
};

// The quarter round of ChaCha20 (RFC 8439, section 2.1).
RF_FN void quarter_round(u32& a, u32& b, u32& c, u32& d) {
    a += b, d = rotate_left(d ^ a, 16);
    c += d, b = rotate_left(b ^ c, 12);
    a += b, d = rotate_left(d ^ a, 8);
    c += d, b = rotate_left(b ^ c, 7);
}

// in: 16 words   out: the words after the cipher's twenty rounds
RF_FN void chacha_permute(u32* x) {
    RF_LOOP
    for (u32 round = 0; round < 20; round += 2) {
        RF_UNROLL
        for (u32 i = 0; i < 4; i++) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
        RF_UNROLL
        for (u32 i = 0; i < 4; i++) quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
}

// Writes the block for (item, number): 16 uniform words, independent of those of every other (item, number).
RF_FN void random_block(const RandomKey& random_key, u64 item, u64 number, u32* block) {
    const u32 start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,  // "expand 32-byte k"
                           random_key.key[0], random_key.key[1], random_key.key[2], random_key.key[3],
                           random_key.key[4], random_key.key[5], random_key.key[6], random_key.key[7],
                           low(item), high(item), low(number), high(number)};
    RF_UNROLL
    for (u32 i = 0; i < 16; i++) block[i] = start[i];
    chacha_permute(block);
    RF_UNROLL
    for (u32 i = 0; i < 16; i++) block[i] += start[i];
}

// Writes 16 words as `random_block` does, mixed with the 16 words context(i). If the same key and (item, attempt) are
// used again with another context, the new words are independent (`RandomKey::hedged_block` says why).
template <class Context>
RF_FN void hedged_block(const RandomKey& random_key, u64 item, u32 attempt, Context context, u32* block) {
    random_block(random_key, item, attempt, block);
    RF_UNROLL
    for (u32 i = 0; i < 16; i++) block[i] ^= context(i);
    chacha_permute(block);
}

}  // namespace rf
