// The hash function SM3 (GB/T 32905). Each thread computes one hash, with its state in registers.
#pragma once
#include "word.cuh"

namespace rf {

struct Sm3 {
    u32 state[8];

    RF_METHOD Sm3() {
        const u32 start[8] = {0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e};
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) state[i] = start[i];
    }

    // Compresses a block of 16 words into the state. Overwrites the block.
    RF_METHOD void compress(u32* w) {
        u32 a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
        u32 t = 0x79cc4519;
        RF_LOOP
        for (u32 round = 0; round < 64; round += 16) {
            RF_UNROLL
            for (u32 i = 0; i < 16; i++) {
                const u32 now = w[i], later = w[(i + 4) % 16];
                // w[i] becomes the message word of 16 rounds later; no round after this one reads its old value
                const u32 mixed = w[i] ^ w[(i + 7) % 16] ^ rotate_left(w[(i + 13) % 16], 15);
                u32 next = mixed ^ rotate_left(mixed, 15) ^ rotate_left(mixed, 23) ^ rotate_left(w[(i + 3) % 16], 7) ^
                           w[(i + 10) % 16];
                const u32 a12 = rotate_left(a, 12), ss1 = rotate_left(a12 + e + t, 7);
                const bool early = round == 0;
                const u32 ff = early ? a ^ b ^ c : (a & b) | (a & c) | (b & c);
                const u32 gg = early ? e ^ f ^ g : (e & f) | (~e & g);
                const u32 tt1 = ff + d + (ss1 ^ a12) + (now ^ later), tt2 = gg + h + ss1 + now;
                d = c, c = rotate_left(b, 9), b = a, a = tt1;
                h = g, g = rotate_left(f, 19), f = e, e = tt2 ^ rotate_left(tt2, 9) ^ rotate_left(tt2, 17);
                w[i] = next;
                t = rotate_left(t, 1);
                if (round == 0 && i == 15) t = rotate_left(0x7a879d8au, 16);
            }
        }
        state[0] ^= a, state[1] ^= b, state[2] ^= c, state[3] ^= d;
        state[4] ^= e, state[5] ^= f, state[6] ^= g, state[7] ^= h;
    }
};

}  // namespace rf
