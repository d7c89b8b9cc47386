// Random blocks on a device: the ChaCha20 stream cipher (RFC 8439, section 2.3) under a key of the host's, one thread a block.
//
// The block for (item, attempt) is that of counter `first + item` and nonce `attempt`, each of 64 bits, as in the cipher's
// original form: the host reserves counters for each run, so no two draws of any runs are the same block.
#pragma once
#include "word.cuh"

namespace rf {

// What a reservation holds, 48 bytes; the host's `ringforge::Draws` writes it.
struct Draws {
    u32 key[8];
    u64 first;  // the counter of item 0
    u64 unused;
};

RF_FN void quarter_round(u32& a, u32& b, u32& c, u32& d) {
    a += b, d = rotate_left(d ^ a, 16);
    c += d, b = rotate_left(b ^ c, 12);
    a += b, d = rotate_left(d ^ a, 8);
    c += d, b = rotate_left(b ^ c, 7);
}

// out: 16 words, uniform and independent of those of every other (item, attempt)
RF_FN void draw(const Draws& draws, u64 item, u32 attempt, u32* block) {
    const u64 counter = draws.first + item;
    const u32 start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,  // "expand 32-byte k"
                           draws.key[0], draws.key[1], draws.key[2], draws.key[3],
                           draws.key[4], draws.key[5], draws.key[6], draws.key[7],
                           low(counter), high(counter), attempt, 0};
    RF_UNROLL
    for (u32 i = 0; i < 16; i++) block[i] = start[i];
    RF_LOOP
    for (u32 round = 0; round < 20; round += 2) {
        RF_UNROLL
        for (u32 i = 0; i < 4; i++) quarter_round(block[i], block[4 + i], block[8 + i], block[12 + i]);
        RF_UNROLL
        for (u32 i = 0; i < 4; i++)
            quarter_round(block[i], block[4 + (i + 1) % 4], block[8 + (i + 2) % 4], block[12 + (i + 3) % 4]);
    }
    RF_UNROLL
    for (u32 i = 0; i < 16; i++) block[i] += start[i];
}

}  // namespace rf
