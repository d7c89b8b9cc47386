// The E8 code of CTRU (eprint 2022/579): encodes four bits as a block of eight coordinates, and decodes a block to the
// nearest codeword.
#pragma once
#include "word.cuh"

namespace rf {

// in: a < 16   out: the codeword, bit j for coordinate j. Bits 0 to 3 of a select the rows 55 0F 3C F0 of the generator
// matrix.
RF_FN u32 e8_encode(u32 a) {
    return (a & 1) * 0x55 ^ (a >> 1 & 1) * 0x0F ^ (a >> 2 & 1) * 0x3C ^ (a >> 3) * 0xF0;
}

RF_FN u32 e8_magnitude(i32 x) { return x < 0 ? -x : x; }

// Result of decoding within one coset of the code. In a coset, each of the four pairs of coordinates has one bit, that
// of its second coordinate, and these bits have even parity.
// score: 64 times the sum of |x_i| plus a constant, minus twice the smallest term if a bit is flipped; |x_i| is the
// cost of the worse bit of pair i
// flips: bits of the nibble that the flip changes; 0 without a flip
struct E8Coset {
    u32 score, flips;
};

// in: x_i for pair i, |x_i| < 2^16. The pair prefers bit 1 if x_i < 0; its other bit costs |x_i|.
RF_FN E8Coset e8_coset(i32 x0, i32 x1, i32 x2, i32 x3) {
    // A key holds, from the highest bits down: the cost, the index of the pair, and the bits of the nibble to flip. The
    // smallest key is therefore that of the first of the cheapest pairs.
    u32 k0 = 64 * e8_magnitude(x0) + 0x06;
    u32 k1 = 64 * e8_magnitude(x1) + 0x14;
    u32 k2 = 64 * e8_magnitude(x2) + 0x20;
    u32 k3 = 64 * e8_magnitude(x3) + 0x38;
    u32 least = min_word(min_word(k0, k1), min_word(k2, k3));
    u32 flipped = least & (u32)((x0 ^ x1 ^ x2 ^ x3) >> 31);
    return E8Coset{k0 + k1 + k2 + k3 - 2 * (flipped & ~63u), flipped & 15};
}

// Decodes eight coordinates modulo Q2 to the nearest codeword, whose ones are at Q2/2.
//
// A coordinate v has distance m = min(v, Q2 - v) from 0 and Q2/2 - m from Q2/2. The squares of these distances differ
// by Q2 (Q2/4 - m), which is linear in m, so sums of squares compare like sums of m, without products. Let m and m'
// belong to the two coordinates of a pair. In the even coset, the pair prefers (1, 1) to (0, 0) if x = Q2/2 - m - m' <
// 0. In the odd coset, it prefers (0, 1) to (1, 0) if x = m - m' < 0. The other choice costs Q2 |x|. The coset with the
// larger score has the nearer codeword.
//
// in: v[0..8] < Q2; Q2 a power of two, at most 2^16   out: the nibble
// ties: a pair takes bit 0, the first of the cheapest pairs is flipped, and the even coset wins
template <u32 Q2>
RF_FN u32 e8_decode(const u32* v) {
    i32 same[4], other[4];
    RF_UNROLL
    for (u32 i = 0; i < 4; i++) {
        u32 m0 = min_word(v[2 * i], Q2 - v[2 * i]), m1 = min_word(v[2 * i + 1], Q2 - v[2 * i + 1]);
        same[i] = (i32)(Q2 / 2 - m0 - m1);
        other[i] = (i32)(m0 - m1);
    }
    E8Coset even = e8_coset(same[0], same[1], same[2], same[3]);
    E8Coset odd = e8_coset(other[0], other[1], other[2], other[3]);
    u32 t = even.score < odd.score;
    u32 x0 = select(t, (u32)other[0], (u32)same[0]);
    u32 x1 = select(t, (u32)other[1], (u32)same[1]);
    u32 x3 = select(t, (u32)other[3], (u32)same[3]);
    u32 bits = t | (x0 >> 30 & 2) | ((x0 ^ x1) >> 29 & 4) | (x3 >> 28 & 8);
    return bits ^ select(t, odd.flips, even.flips);
}

}  // namespace rf
