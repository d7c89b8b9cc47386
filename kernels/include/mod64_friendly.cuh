// Arithmetic modulo primes q = 1 mod 2^32, q < 2^61, for which Shoup multiplication is cheaper: Mod64Friendly.
//
// The multiple c q of q = 2^32 d + 1 takes half a product: c q = c + 2^32 (c d mod 2^32) mod 2^64. So it pays to use a
// less exact quotient c, for which only three of four partial products are computed.
#pragma once
#include "mod64.cuh"

namespace rf {

struct Mod64Friendly : Mod64 {
    static constexpr u32 product_bound = 3;

    // A known factor w < q, stored by v = q - w (0 if w is 0): the words are -v mod 2^64 and ceil(2^64 v / q).
    struct alignas(16) Twiddle {
        u64 w, quotient;
    };

    // in: w < q   out: w as a Twiddle   (the quotient is -floor(2^64 w / q) mod 2^64; see Mod64)
    RF_METHOD Twiddle twiddle(Word w) const {
        return Twiddle{w - select(w != 0, q, 0ull), to_montgomery(w) * inverse};
    }

    // in: any x; the Twiddle of a factor w, v = q - w   out: x w mod q, < 3q
    // x v / q <= x quotient / 2^64 < x v / q + 1. The estimated quotient c is the floor of the middle term plus one or
    // two, so x v / q < c < x v / q + 3. Then c q - x v, which is x w modulo q, lies between 0 and 3q.
    RF_METHOD Word mul(Word x, Twiddle w) const { return dot_friendly(x, w.w, mul_hi_above(x, w.quotient), high(q)); }

    // in: x < B q, B <= 64   out: x mod q, < min(B, 3) q
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        if constexpr (B <= 3) return x;
        else return Mod64::reduce<B>(x);
    }
    // in: b <= B q, a + B q < 2^64   out: a - b + B q, not reduced   (B * q would compile to a wide product)
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        return a + (join(B, B * high(q)) - b);
    }
    // in: b <= B q   out: B q - b, <= B q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return join(B, B * high(q)) - b;
    }
};

}  // namespace rf
