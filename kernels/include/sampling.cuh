// Random blocks of an item, and uniform residues modulo moduli that a kernel reads from memory.
//
// The generated struct S gives the types of residues and moduli (S::Store, S::Limb), the degree S::n, and whether keys
// are seeds (S::seeds). A seed belongs to one item, which then gets the blocks of item 0 under its own key. Otherwise
// the key is a run's RandomKey, and an item gets the blocks of its index in the run.
#pragma once
#include "divisor256.cuh"
#include "random.cuh"

namespace rf {

// A modulus q of up to 64 bits. Stored residues are multiplied by a constant R. Table: d, reciprocal, shift
// (`Divisor`); R, 2^64 R, 2^128 R mod q.
struct WordLimb {
    static constexpr u32 words = 6, per_block = 2;
    Divisor q;
    const u64* weights;

    RF_METHOD WordLimb(const u64* table) : q{table[0], table[1], (u32)table[2]}, weights(table + 3) {}

    // in: a block of 16 words, j < per_block   out: words 6 j to 6 j + 5 of the block as an integer of 192 bits, times
    //     R, mod q
    RF_METHOD u64 uniform(const u32* block, u32 j) const {
        u64 digits[3];
        RF_UNROLL
        for (u32 i = 0; i < 3; i++) digits[i] = join(block[6 * j + 2 * i], block[6 * j + 2 * i + 1]);
        return weighted_sum<false>(digits, 1, weights, 3, q);
    }
};

// A modulus q of up to 256 bits. Stored residues are multiplied by a constant R. Table: d = 2^shift q, whose top bit is
// set; floor(2^319 / d), at most 2^64 - 1; shift; 2^(62 i + shift) R mod d for i < 7.
struct WideLimb {
    static constexpr u32 words = 34, per_block = 1;
    Divisor256<256> d;
    u32 shift;
    const u64* weights;

    RF_METHOD WideLimb(const u64* table) : shift((u32)table[5]), weights(table + 6) {
        u256 q = number(table);
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) d.q[i] = q.limb[i];
        d.ratio = table[4];
    }

    // in: a block of 16 words   out: its lowest 434 bits as an integer, times R, mod q
    RF_METHOD u256 uniform(const u32* block, u32) const {
        u256 sum{};
        RF_UNROLL
        for (u32 i = 0; i < 7; i++) sum = d.mad(sum, bits_from<16>(block, 62 * i) & ((1ull << 62) - 1), number(weights + 4 * i));
        return shifted(sum);
    }

  private:
    static RF_METHOD u256 number(const u64* from) {
        u256 x;
        RF_UNROLL
        for (u32 i = 0; i < 4; i++) x.limb[2 * i] = low(from[i]), x.limb[2 * i + 1] = high(from[i]);
        return x;
    }
    // out: floor(x / 2^shift)
    RF_METHOD u256 shifted(u256 x) const {
        RF_UNROLL
        for (u32 step = 4; step > 0; step /= 2) {
            RF_UNROLL
            for (u32 i = 0; i < 8; i++) x.limb[i] = select(shift & 32 * step, i + step < 8 ? x.limb[i + step] : 0, x.limb[i]);
        }
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) x.limb[i] = low(join(x.limb[i], i + 1 < 8 ? x.limb[i + 1] : 0) >> shift % 32);
        return x;
    }
};

// Writes block `number` of random stream `series` for an item. The item's key is at keys + item * distance, in 32-bit
// words.
template <class S>
RF_FN void sample_block(const u32* keys, u64 distance, u64 item, u64 series, u32 number, u32* block) {
    const RandomKey* key = (const RandomKey*)(keys + item * distance);
    random_block(*key, S::seeds ? 0 : item, series << 32 | number, block);
}

// out: quarter j of a block, 128 bits
RF_FN u128 sample_bits(const u32* block, u32 j) {
    return u128{join(block[4 * j], block[4 * j + 1]), join(block[4 * j + 2], block[4 * j + 3])};
}

}  // namespace rf
