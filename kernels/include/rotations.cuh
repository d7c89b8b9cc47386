// Transforms of up to sixteen points modulo q = 2^64 - 2^32 + 1, where 2^96 = -1: powers of two are the roots of unity, and
// products by them shifts.
//
// Between layers, values are integers of 96 bits with a sign, which sums and differences leave unreduced. In `units` of 2^64,
// points enter with at most one, a layer doubles that at most, and what was shifted has two; so a shift, by fewer than 32
// bits before words change places, fits (`fits`).
#pragma once
#include "word.cuh"

namespace rf {

// Layers of radix 2 under one node x^(points) - 1, Sixteenth being the power of two which is that root of unity by whose powers
// its children differ, or that of a higher order of which a smaller tree's is a power.
template <u32 Layers, u32 Sixteenth>
struct Rotations {
    static_assert(Layers <= 4 && Sixteenth % 24 == 12 && Sixteenth < 192, "2^12 has the order 16");
    static constexpr u32 points = 1 << Layers;
    using Point = i96;

    // The exponent of two in the factor of a node of any layer: digits from the right, each worth half of the one before.
    RF_CONST u32 exponent(u32 node) { return ((node & 1) * 4 + (node >> 1 & 1) * 2 + (node >> 2)) * Sixteenth % 192; }

    // Added to the first point, and so to each that comes out, for `out`: a multiple of q, so that nothing is below 0, and 2^32 - 1.
    static constexpr u64 lifted = (u64)1 << 29;
    RF_FN i96 in_first(u64 x) {
        constexpr u64 less = (lifted - 1) * 0xffffffffu;
        return add_signed(i96{low(x), high(x), 0}, i96{low(0 - less), high(0 - less), (u32)lifted - 1});
    }
    RF_FN i96 in(u64 x) { return i96{low(x), high(x), 0}; }
    // out: the residue, < q
    RF_FN u64 out(i96 x) { return canonical_folded(x); }

    // in: by < 96, a constant   out: = 2^by x mod q, at most two units; unless Folded, shifts within a word leave more
    template <bool Folded>
    RF_FN i96 shifted(i96 x, u32 by) {
        if (by == 0) return x;
        const u32 bits = by % 32;
        i96 z = {x.x0 << bits, x.x1 << bits | x.x0 >> (32 - bits), x.x2 << bits | x.x1 >> (32 - bits)};
        if (by > 64) return fold_signed_64(z);
        if (by > 32) return fold_signed_32(z);
        return Folded ? fold_signed(z) : z;
    }

    // Points to values, from left to right as the tree has them.
    RF_FN void forward(i96* x) {
        RF_UNROLL
        for (u32 l = 0; l < Layers; l++) {
            const u32 size = points >> l, half = size / 2;
            RF_UNROLL
            for (u32 i = 0; i < points / 2; i++) {
                const u32 node = i / half, e = exponent(node);
                i96 &a = x[node * size + i % half], &b = x[node * size + half + i % half];
                i96 left = a, right = l + 1 < Layers ? shifted<true>(b, e % 96) : shifted<false>(b, e % 96);
                a = e < 96 ? add_signed(left, right) : sub_signed(left, right);
                b = e < 96 ? sub_signed(left, right) : add_signed(left, right);
            }
        }
    }
    // And back, times the number of points.
    RF_FN void inverse(i96* x) {
        RF_UNROLL
        for (u32 l = Layers; l-- > 0;) {
            const u32 size = points >> l, half = size / 2;
            RF_UNROLL
            for (u32 i = 0; i < points / 2; i++) {
                const u32 node = i / half, e = (192 - exponent(node)) % 192;
                i96 &a = x[node * size + i % half], &b = x[node * size + half + i % half];
                i96 left = a, right = b;
                a = add_signed(left, right);
                b = shifted<true>(e < 96 ? sub_signed(left, right) : sub_signed(right, left), e % 96);
            }
        }
    }
};

}  // namespace rf
