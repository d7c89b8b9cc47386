// Poseidon2 (eprint 2023/323) and Plonky3's hashes built on it. A single thread computes each permutation, with the
// state in registers; where there are few permutations, neighbouring lanes of a warp share a state.
//
// `Hash`, from the prelude, has the parameters: the state's width, a digest's words (half the width in a sponge), the
// rounds, the degree of the S-box, the diagonal D of the internal layer, and the arithmetic `Field`. The internal layer
// multiplies the state by J + D, where J is the all-ones matrix.
//
// Round constants are in memory, in the encoding of `Field`: first those of the initial external rounds, then those of
// the final external rounds, then those of the internal rounds.
#pragma once
#include "word.cuh"

namespace poseidon2 {

using rf::u32;
using rf::u64;

// External linear layer: multiplies by circ(2 M, M, …, M), with M = circ(2, 3, 1, 1).
template <class Hash>
RF_FN void external_layer(typename Hash::Word* x) {
    using Field = typename Hash::Field;
    typename Field::Sum y[Hash::width];
    RF_UNROLL
    for (u32 i = 0; i < Hash::width; i += 4) {
        auto a = Field::widen(x[i]), b = Field::widen(x[i + 1]), c = Field::widen(x[i + 2]), d = Field::widen(x[i + 3]);
        auto ab = Field::add(a, b), cd = Field::add(c, d), all = Field::add(ab, cd);
        auto left = Field::add(all, b), right = Field::add(all, d);
        y[i] = Field::add(left, ab);
        y[i + 1] = Field::add(left, Field::add(c, c));
        y[i + 2] = Field::add(right, cd);
        y[i + 3] = Field::add(right, Field::add(a, a));
    }
    RF_UNROLL
    for (u32 i = 0; i < 4; ++i) {
        auto all = y[i];
        RF_UNROLL
        for (u32 j = i + 4; j < Hash::width; j += 4) all = Field::add(all, y[j]);
        RF_UNROLL
        for (u32 j = i; j < Hash::width; j += 4) x[j] = Field::narrow(Field::add(y[j], all));
    }
}

template <class Hash>
RF_FN void external_rounds(typename Hash::Word* x, const typename Hash::Word* constants) {
    RF_LOOP
    for (u32 round = 0; round < Hash::half; ++round) {
        RF_UNROLL
        for (u32 i = 0; i < Hash::width; ++i) {
            x[i] = Hash::Field::template power<Hash::degree>(x[i], constants[round * Hash::width + i]);
        }
        external_layer<Hash>(x);
    }
}

template <class Hash>
RF_FN void internal_rounds(typename Hash::Word* x, const typename Hash::Word* constants) {
    RF_UNROLL_4
    for (u32 round = 0; round < Hash::internal; ++round) {
        x[0] = Hash::Field::template power<Hash::degree>(x[0], constants[round]);
        Hash::Field::template internal_layer<Hash>(x);
    }
}

// Applies the Poseidon2 permutation to a state.
template <class Hash>
RF_FN void permute(typename Hash::Word* x, const typename Hash::Word* constants) {
    constexpr u32 last = Hash::half * Hash::width;
    external_layer<Hash>(x);
    external_rounds<Hash>(x, constants);
    internal_rounds<Hash>(x, constants + 2 * last);
    external_rounds<Hash>(x, constants + last);
}

// The sum of the words of all lanes that share a state.
template <class Hash>
RF_FN typename Hash::Word sum_of_lanes(typename Hash::Word x) {
    RF_UNROLL
    for (u32 by = 1; by < Hash::width / 4; by *= 2) x = Hash::Field::sum(x, __shfl_xor_sync(0xffffffff, x, (int)by));
    return x;
}

// The external linear layer for a state of which each of several neighbouring lanes of a warp has four words.
template <class Hash>
RF_FN void external_layer_of_lanes(typename Hash::Word* x) {
    using Field = typename Hash::Field;
    const auto ab = Field::sum(x[0], x[1]), cd = Field::sum(x[2], x[3]), all = Field::sum(ab, cd);
    const auto left = Field::sum(all, x[1]), right = Field::sum(all, x[3]);
    const typename Hash::Word y[4] = {Field::sum(left, ab), Field::sum(left, Field::sum(x[2], x[2])), Field::sum(right, cd),
                                      Field::sum(right, Field::sum(x[0], x[0]))};
    RF_UNROLL
    for (u32 i = 0; i < 4; ++i) x[i] = Field::sum(y[i], sum_of_lanes<Hash>(y[i]));
}

// Applies the permutation to a state of which each of `width` / 4 neighbouring lanes of a warp has four words. All lanes of
// the warp must call it. It takes less time than `permute` where there are too few states for all threads.
template <class Hash>
RF_FN void permute_lanes(typename Hash::Word* x, const typename Hash::Word* constants) {
    using Field = typename Hash::Field;
    constexpr u32 lanes = Hash::width / 4, last = 2 * Hash::half * Hash::width;
    static_assert(32 % lanes == 0, "a warp has whole states");
    const u32 lane = threadIdx.x % lanes;
    typename Field::Factor factors[4];
    RF_UNROLL
    for (u32 i = 0; i < Hash::width; ++i) {
        if (i / 4 == lane) factors[i % 4] = Field::factor(Hash::diagonal(i));
    }
    external_layer_of_lanes<Hash>(x);
    RF_LOOP
    for (u32 round = 0; round < 2 * Hash::half; ++round) {
        RF_UNROLL
        for (u32 i = 0; i < 4; ++i) {
            x[i] = Field::template power<Hash::degree>(x[i], constants[round * Hash::width + 4 * lane + i]);
        }
        external_layer_of_lanes<Hash>(x);
        if (round + 1 != Hash::half) continue;
        RF_LOOP
        for (u32 inner = 0; inner < Hash::internal; ++inner) {
            const auto power = Field::template power<Hash::degree>(x[0], constants[last + inner]);
            x[0] = lane == 0 ? power : x[0];
            const auto all = sum_of_lanes<Hash>(Field::sum(Field::sum(x[0], x[1]), Field::sum(x[2], x[3])));
            RF_UNROLL
            for (u32 i = 0; i < 4; ++i) x[i] = Field::sum(Field::times(x[i], factors[i]), all);
        }
    }
}

// Absorbs words into a sponge without padding, in overwrite mode (Plonky3's PaddingFreeSponge), with rate Hash::digest.
// in: a state whose current block has `before` words   out: the state after `count` more words, read at stride `apart`
// A block overwrites the state's first words. The state is permuted after each full block and, if `ends`, after a
// partial last block.
template <class Hash>
RF_FN void absorb(typename Hash::Word* x, const typename Hash::Word* constants, const typename Hash::Word* from, u64 apart,
                  u32 before, u32 count, bool ends) {
    RF_LOOP
    while (count > 0) {
        const u32 behind = rf::min_word(before + count, Hash::digest);
        RF_UNROLL
        for (u32 i = 0; i < Hash::digest; ++i) {
            if (i >= before && i < behind) {
                x[i] = *from;
                from += apart;
            }
        }
        count -= behind - before;
        if (behind == Hash::digest || (ends && count == 0)) permute<Hash>(x, constants);
        before = 0;
    }
}

// Loads the first `count` words of `from` to x, and zeros after them up to `all` words.
template <class Hash>
RF_FN void load(typename Hash::Word* x, const typename Hash::Word* from, u32 count, u32 all = Hash::width) {
    RF_UNROLL
    for (u32 i = 0; i < all; ++i) x[i] = i < count ? from[i] : 0;
}

// Stores the item's digest, or the whole state if a sponge is to resume from it, as words below the modulus.
template <class Hash>
RF_FN void store(typename Hash::Word* to, u64 item, const typename Hash::Word* x, bool whole) {
    const u32 words = whole ? Hash::width : Hash::digest;
    RF_UNROLL
    for (u32 i = 0; i < Hash::width; ++i) {
        if (i < words) to[item * words + i] = Hash::Field::canonical(x[i]);
    }
}

// The row of an item in a matrix. Items beyond the last row wrap around to the first.
RF_FN u64 row_of(u64 item, u64 rows) { return item < rows ? item : item % rows; }

}  // namespace poseidon2
