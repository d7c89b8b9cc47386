// Keccak-f[1600] and SHAKE (FIPS 202): the state in the registers of one thread, no branch on data.
#pragma once
#include "word.cuh"

namespace rf {

RF_FN u64 rotate_left(u64 x, u32 by) { return x << (by & 63) | x >> (64 - by & 63); }

// What the step iota adds to lane 0 in each round.
RF_CONST u64 keccak_round[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

// in: 25 lanes, lane (x, y) at x + 5 y   out: their permutation
RF_FN void keccak_f(u64* a) {
    for (u32 round = 0; round < 24; round++) {
        u64 column[5];
        RF_UNROLL
        for (u32 x = 0; x < 5; x++) column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        RF_UNROLL
        for (u32 x = 0; x < 5; x++) {
            u64 parity = column[(x + 4) % 5] ^ rotate_left(column[(x + 1) % 5], 1);
            RF_UNROLL
            for (u32 y = 0; y < 5; y++) a[x + 5 * y] ^= parity;
        }
        // Lanes other than (0, 0) move along one cycle, (x, y) to (y, 2x + 3y), and turn on the way.
        u64 moving = a[1];
        u32 x = 1, y = 0;
        RF_UNROLL
        for (u32 t = 0; t < 24; t++) {
            u32 next = (2 * x + 3 * y) % 5;
            x = y;
            y = next;
            u64 there = a[x + 5 * y];
            a[x + 5 * y] = rotate_left(moving, (t + 1) * (t + 2) / 2);
            moving = there;
        }
        RF_UNROLL
        for (u32 row = 0; row < 25; row += 5) {
            u64 first = a[row], second = a[row + 1];
            RF_UNROLL
            for (u32 i = 0; i < 5; i++) {
                u64 left = i < 4 ? a[row + (i + 1) % 5] : first;
                u64 right = i < 3 ? a[row + (i + 2) % 5] : i == 3 ? first : second;
                a[row + i] ^= ~left & right;
            }
        }
        a[0] ^= keccak_round[round];
    }
}

// SHAKE-128 has a rate of 21 words, SHAKE-256 one of 17.
template <u32 Rate>
struct Shake {
    u64 state[25];

    // in: a message of Words < Rate whole words   out: a sponge that has absorbed it
    template <u32 Words>
    RF_METHOD void absorb(const u64* message) {
        static_assert(Words < Rate, "the message must fit one block with its padding");
        RF_UNROLL
        for (u32 i = 0; i < 25; i++) state[i] = i < Words ? message[i] : 0;
        state[Words] ^= 0x1f;
        state[Rate - 1] ^= 1ull << 63;
    }
    // out: the next block of the stream in state[0 .. Rate]
    RF_METHOD void squeeze() { keccak_f(state); }
};
using Shake128 = Shake<21>;
using Shake256 = Shake<17>;

}  // namespace rf
