// Poseidon2 of width 16 over a prime below 2^31, a permutation a thread, its state in registers.
//
// Residues are in Montgomery form, and so are the constants, which are data: round constants of the first external rounds and
// of the last ones, of the internal ones, and the diagonal D of the internal layer, which is multiplication by 1 + D.
#pragma once
#include "mod31.cuh"

namespace poseidon2 {

using rf::u32;
using rf::u64;

RF_CONST u32 width = 16, digest = 8;

// in: a, b < q   out: a + b, < q
RF_FN u32 add(const rf::Mod31& m, u32 a, u32 b) { return m.reduce<2>(m.add(a, b)); }

// in: x < q   out: x^degree, < q
template <u32 degree>
RF_FN u32 power(const rf::Mod31& m, u32 x) {
    static_assert(degree == 3 || degree == 7, "the S-boxes of KoalaBear and BabyBear");
    u32 cube = m.mul_montgomery(m.mul_montgomery(x, x), x);
    if constexpr (degree == 3) return cube;
    else return m.mul_montgomery(m.mul_montgomery(cube, cube), x);
}

// Multiplies by circ(2 M, M, M, M), with M = circ(2, 3, 1, 1).
RF_FN void external_layer(const rf::Mod31& m, u32* x) {
    RF_UNROLL
    for (u32 i = 0; i < width; i += 4) {
        u32 a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
        u32 ab = add(m, a, b), bc = add(m, b, c), cd = add(m, c, d), da = add(m, d, a);
        u32 all = add(m, ab, cd);
        x[i] = add(m, all, add(m, ab, b));
        x[i + 1] = add(m, all, add(m, bc, c));
        x[i + 2] = add(m, all, add(m, cd, d));
        x[i + 3] = add(m, all, add(m, da, a));
    }
    RF_UNROLL
    for (u32 i = 0; i < 4; ++i) {
        u32 sum = add(m, add(m, x[i], x[i + 4]), add(m, x[i + 8], x[i + 12]));
        RF_UNROLL
        for (u32 j = i; j < width; j += 4) x[j] = add(m, x[j], sum);
    }
}

template <class Hash>
RF_FN void external_rounds(const rf::Mod31& m, u32* x, const u32* constants) {
    RF_LOOP
    for (u32 round = 0; round < Hash::half; ++round) {
        RF_UNROLL
        for (u32 i = 0; i < width; ++i) x[i] = power<Hash::degree>(m, add(m, x[i], constants[round * width + i]));
        external_layer(m, x);
    }
}

template <class Hash>
RF_FN void internal_rounds(const rf::Mod31& m, u32* x, const u32* constants, const u32* diagonal) {
    RF_LOOP
    for (u32 round = 0; round < Hash::internal; ++round) {
        x[0] = power<Hash::degree>(m, add(m, x[0], constants[round]));
        u32 sum = x[0];
        RF_UNROLL
        for (u32 i = 1; i < width; ++i) sum = add(m, sum, x[i]);
        // into the products before these are reduced: x d + 2^32 sum < q^2
        sum = m.to_montgomery(sum);
        RF_UNROLL
        for (u32 i = 0; i < width; ++i) x[i] = m.wide_reduce<1>(rf::mul_wide(x[i], diagonal[i]) + sum);
    }
}

// in: x[i] < q   out: permuted, < q
template <class Hash>
RF_FN void permute(u32* x, const u32* constants) {
    constexpr rf::Mod31 m = Hash::modulus();
    constexpr u32 last = Hash::half * width, internal = 2 * last, diagonal = internal + Hash::internal;
    external_layer(m, x);
    external_rounds<Hash>(m, x, constants);
    internal_rounds<Hash>(m, x, constants + internal, constants + diagonal);
    external_rounds<Hash>(m, x, constants + last);
}

// in: a state whose block has Hash::absorbed words, Hash::columns more, each by word(column)   out: the sponge's state behind them, of
// rate 8 without padding: a block replaces the state's first words, and is permuted when it is full, or if no more come
template <class Hash, class Word>
RF_FN void absorb(u32* x, const u32* constants, Word word) {
    constexpr u32 all = Hash::absorbed + Hash::columns;
    RF_LOOP
    for (u32 block = 0; block < all; block += digest) {
        RF_UNROLL
        for (u32 i = 0; i < digest; ++i) {
            if (block + i >= Hash::absorbed && block + i < all) x[i] = word(block + i - Hash::absorbed);
        }
        if (Hash::ends || block + digest <= all) permute<Hash>(x, constants);
    }
}

RF_FN void clear(u32* x) {
    RF_UNROLL
    for (u32 i = 0; i < width; ++i) x[i] = 0;
}

RF_FN void load(u32* x, const u32* from) {
    RF_UNROLL
    for (u32 i = 0; i < width; ++i) x[i] = from[i];
}

// out: a digest, or a state from which a sponge goes on, at the item's place
template <class Hash>
RF_FN void store(u32* to, u64 item, const u32* x) {
    constexpr u32 words = Hash::ends ? digest : width;
    RF_UNROLL
    for (u32 i = 0; i < words; ++i) to[item * words + i] = x[i];
}

// in: a pair of digests   out: their permutation, whose first half is the digest of both
template <class Hash>
RF_FN void combine(u32* x, const u32* pair, const u32* constants) {
    load(x, pair);
    permute<Hash>(x, constants);
}

}  // namespace poseidon2
