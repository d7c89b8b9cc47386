// Transforms of up to sixteen points modulo q = 2^64 - 2^32 + 1, where 2^96 = -1: roots of unity are powers of two, so
// that products by twiddle factors are shifts.
//
// Between layers, points are signed 96-bit integers, which are not fully reduced. In units of 2^64, points are at most
// 2 on entry and below 2 again after a shift. A point that is about to be shifted is at most 8 units, or at most 7 if
// the shift is 28 modulo 32. So it still fits 96 bits after a shift by less than a word.
#pragma once
#include "word.cuh"

namespace rf {

// Radix-2 layers below a node x^m - 1 of the factorization tree. 2^Sixteenth is the tree's root of unity of order 16.
// If the tree has no root of that order, it is a root whose powers are the tree's roots of lower orders.
template <u32 Layers, u32 Sixteenth>
struct Rotations {
    static_assert(Layers <= 4 && Sixteenth % 24 == 12 && Sixteenth < 192, "at most 4 layers, of a root of order 16");
    static constexpr u32 points = 1 << Layers;
    using Point = i96;

    // The exponent of two in the twiddle factor of a node of any layer: the bit-reversed index of the node times
    // Sixteenth.
    RF_CONST u32 exponent(u32 node) { return ((node & 1) * 4 + (node >> 1 & 1) * 2 + (node >> 2)) * Sixteenth % 192; }

    // Point 0 is a term of every output and is never shifted, so an offset added to point 0 appears in every output.
    // The offset is 2^32 - 1, which `out` subtracts, plus a multiple of q that makes all outputs non-negative.
    static constexpr u64 lifted = (u64)1 << 29;
    RF_FN i96 in_first(u64 x) {
        constexpr u64 less = (lifted - 1) * 0xffffffffu;
        return add_signed(i96{low(x), high(x), 0}, i96{low(0 - less), high(0 - less), (u32)lifted - 1});
    }
    RF_FN i96 in(u64 x) { return i96{low(x), high(x), 0}; }
    // in: an output of the transform, with its offset   out: the residue, < q
    RF_FN u64 out(i96 x) { return canonical_folded(x); }

    // in: by < 96, a compile-time constant   out: 2^by x modulo q, below 2 units of 2^64; larger if not Folded and by <
    //     32
    template <bool Folded>
    RF_FN i96 shifted(i96 x, u32 by) {
        if (by == 0) return x;
        const u32 bits = by % 32;
        i96 z = {x.x0 << bits, x.x1 << bits | x.x0 >> (32 - bits), x.x2 << bits | x.x1 >> (32 - bits)};
        if (by > 64) return fold_signed_64(z);
        if (by > 32) return fold_signed_32(z);
        return Folded ? fold_signed(z) : z;
    }

    // Forward transform, from points to evaluations in bit-reversed order: in(j) is point j, and out(j, x) receives
    // evaluation j. Nodes are processed depth-first, so that few registers are live at once.
    template <class In, class Out>
    RF_FN void forward(In in, Out out) {
        i96 x[points];
        RF_UNROLL
        for (u32 j = 0; j < points; j++) x[j] = in(j);
        forward_under<0>(x, 0, out);
    }
    // Inverse transform without the division by the number of points: in(j) is evaluation j in bit-reversed order, and
    // out(j, x) receives point j times the number of points.
    template <class In, class Out>
    RF_FN void inverse(In in, Out out) {
        i96 x[points];
        inverse_under<0>(x, 0, in);
        RF_UNROLL
        for (u32 j = 0; j < points; j++) out(j, x[j]);
    }

  private:
    template <u32 L, class Out>
    RF_FN void forward_under(i96* x, u32 node, Out out) {
        if constexpr (L == Layers) {
            out(node, x[0]);
        } else {
            constexpr u32 half = points >> (L + 1);
            const u32 e = exponent(node);
            RF_UNROLL
            for (u32 j = 0; j < half; j++) {
                i96 &a = x[j], &b = x[j + half];
                const i96 left = a, right = shifted<(L + 1 < Layers)>(b, e % 96);
                a = e < 96 ? add_signed(left, right) : sub_signed(left, right);
                b = e < 96 ? sub_signed(left, right) : add_signed(left, right);
            }
            forward_under<L + 1>(x, 2 * node, out);
            forward_under<L + 1>(x + half, 2 * node + 1, out);
        }
    }
    template <u32 L, class In>
    RF_FN void inverse_under(i96* x, u32 node, In in) {
        if constexpr (L == Layers) {
            x[0] = in(node);
        } else {
            constexpr u32 half = points >> (L + 1);
            const u32 e = (192 - exponent(node)) % 192;
            inverse_under<L + 1>(x, 2 * node, in);
            inverse_under<L + 1>(x + half, 2 * node + 1, in);
            RF_UNROLL
            for (u32 j = 0; j < half; j++) {
                i96 &a = x[j], &b = x[j + half];
                const i96 left = a, right = b;
                a = add_signed(left, right);
                b = shifted<true>(e < 96 ? sub_signed(left, right) : sub_signed(right, left), e % 96);
            }
        }
    }
};

}  // namespace rf
