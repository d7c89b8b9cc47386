// Keccak-f[1600] and the sponges of FIPS 202, one permutation per thread: the state is in registers, and nothing
// branches on data.
//
// Roofline bound: a round is 122 LOP3 (theta 20 + 50, chi 50, iota 2) and 58 SHF (theta 10, rho 48; pi is a renaming).
// All issue to one pipe of 64 lanes per clock and multiprocessor, so a permutation takes 24 * 180 = 4320 lane-cycles.
// An H200 (132 multiprocessors at 1.98 GHz) computes at most 3.87e9 permutations a second: 526 GB/s of SHAKE-256.
#pragma once
#include "word.cuh"

namespace rf {

// Round constants: step iota of each round adds (xors) one to lane (0, 0).
RF_CONST u64 keccak_round[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

// in: 25 lanes, lane (x, y) at x + 5 y   out: the lanes after Keccak-f[1600]
RF_FN void keccak_f(u64* a) {
    RF_LOOP
    for (u32 round = 0; round < 24; round++) {
        u64 column[5];
        RF_UNROLL
        for (u32 x = 0; x < 5; x++) column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        RF_UNROLL
        for (u32 x = 0; x < 5; x++) {
            u64 left = column[(x + 4) % 5], right = rotate_left(column[(x + 1) % 5], 1);
            RF_UNROLL
            for (u32 y = 0; y < 25; y += 5) a[x + y] = xor3(a[x + y], left, right);
        }
        // rho and pi: lanes other than (0, 0) move along one cycle, (x, y) to (y, 2x + 3y), and are rotated as they
        // move.
        u64 moving = a[1];
        u32 x = 1, y = 0;
        RF_UNROLL
        for (u32 t = 0; t < 24; t++) {
            u32 next = (2 * x + 3 * y) % 5;
            x = y;
            y = next;
            u64 there = a[x + 5 * y];
            a[x + 5 * y] = rotate_left(moving, (t + 1) * (t + 2) / 2 % 64);
            moving = there;
        }
        RF_UNROLL
        for (u32 y = 0; y < 25; y += 5) {
            u64 first = a[y], second = a[y + 1];
            a[y] ^= ~second & a[y + 2];
            a[y + 1] ^= ~a[y + 2] & a[y + 3];
            a[y + 2] ^= ~a[y + 3] & a[y + 4];
            a[y + 3] ^= ~a[y + 4] & first;
            a[y + 4] ^= ~first & second;
        }
        a[0] ^= keccak_round[round];
    }
}

// A sponge with blocks of Rate 64-bit words. Suffix holds the domain-separation bits that follow the message and the
// first padding bit. Call `absorb` once, then `squeeze` once.
template <u32 Rate, u8 Suffix>
struct Sponge {
    u64 state[25];

    // in: a message of Bytes bytes as little-endian words next(0), next(1), …; bytes of the last word beyond the
    //     message must be zero
    // out: the state after absorbing the padded message, without the permutation that follows its last block
    template <u32 Bytes, class Next>
    RF_METHOD void absorb(Next next) {
        constexpr u32 block = 8 * Rate, blocks = Bytes / block, left = Bytes % block;
        RF_UNROLL
        for (u32 i = 0; i < 25; i++) state[i] = 0;
        RF_LOOP
        for (u32 at = 0; at < blocks * Rate; at += Rate) {
            RF_UNROLL
            for (u32 i = 0; i < Rate; i++) state[i] ^= next(at + i);
            keccak_f(state);
        }
        RF_UNROLL
        for (u32 i = 0; i < (left + 7) / 8; i++) state[i] ^= next(blocks * Rate + i);
        state[left / 8] ^= (u64)Suffix << 8 * (left % 8);
        state[Rate - 1] ^= 1ull << 63;
    }

    // The same for a message whose length in bytes is known at run time only.
    template <class Next>
    RF_METHOD void absorb(u32 bytes, Next next) {
        constexpr u32 block = 8 * Rate;
        const u32 whole = bytes / block * Rate, left = bytes % block;
        RF_UNROLL
        for (u32 i = 0; i < 25; i++) state[i] = 0;
        RF_LOOP
        for (u32 at = 0; at < whole; at += Rate) {
            RF_UNROLL
            for (u32 i = 0; i < Rate; i++) state[i] ^= next(at + i);
            keccak_f(state);
        }
        RF_UNROLL
        for (u32 i = 0; i < Rate; i++) {
            if (i < (left + 7) / 8) state[i] ^= next(whole + i);
            if (i == left / 8) state[i] ^= (u64)Suffix << 8 * (left % 8);
        }
        state[Rate - 1] ^= 1ull << 63;
    }

    // Calls put(i, word) for the output words i < Words.
    template <u32 Words, class Put>
    RF_METHOD void squeeze(Put put) {
        RF_LOOP
        for (u32 at = 0; at < Words; at += Rate) {
            keccak_f(state);
            RF_UNROLL
            for (u32 i = 0; i < Rate; i++)
                if (at + i < Words) put(at + i, state[i]);
        }
    }
};
using Shake128 = Sponge<21, 0x1f>;
using Shake256 = Sponge<17, 0x1f>;
using Sha3_256 = Sponge<17, 0x06>;
using Sha3_512 = Sponge<9, 0x06>;

}  // namespace rf
