// Arithmetic modulo odd q < 2^31 in 32-bit words: residues below 2q, Shoup, Barrett and Montgomery with R = 2^32.
//
// For the fields of BabyBear, KoalaBear and 2^31 - 1. A word holds at most the sum of two residues below q. So products
// are made canonical, and a butterfly first reduces the operand that is not multiplied by a twiddle factor.
#pragma once
#include "shoup32.cuh"

namespace rf {

struct Mod31 {
    u32 q;
    u32 ratio;    // floor(2^32 / q)
    u32 inverse;  // q^-1 mod 2^32
    u32 r2;       // 2^64 mod q

    using Storage = u32;
    using Word = u32;
    using Twiddle = Twiddle32;
    using Wide = u64;  // < 2^32 q

    static constexpr u32 product_bound = 1;
    static constexpr bool lazy = true;
    static constexpr bool wide_factor = true;   // wide_reduce returns acc 2^-32
    static constexpr bool wide_reduced = true;  // every product is reduced, below 2^32 q

    // in: w < q   out: w with its Shoup quotient
    // Exact division: with r = 2^32 w mod q, the quotient is (2^32 w - r) / q = -r / q mod 2^32.
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{w, 0u - to_montgomery(w) * inverse}; }

    // in: any x, w.w < q   out: x w mod q, < q
    RF_METHOD Word mul(Word x, Twiddle w) const { return sub_once(shoup_mul(x, w, q), q); }

    // in: x < B q, B <= 2   out: x mod q, < q; x itself if B <= 1
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        static_assert(B <= 2, "B q must fit in a word, so B must be at most 2");
        if constexpr (B <= 1) return x;
        else return sub_once(x, q);
    }
    // in: x < B q, B <= 2   out: x mod q, < q
    template <u32 B>
    RF_METHOD Word canonical(Word x) const {
        return reduce<B>(x);
    }

    // in: any x   out: x mod q, < q
    RF_METHOD Word reduce_any(Word x) const { return sub_once(barrett(x, q, ratio), q); }

    // in: a + b < 2^32   out: a + b, not reduced
    RF_METHOD Word add(Word a, Word b) const { return a + b; }
    // in: b <= B q, a + B q < 2^32   out: a - b + B q, not reduced
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        return a + (B * q - b);
    }
    // in: b <= B q   out: B q - b, <= B q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return B * q - b;
    }

    // in: a, b < 2q   out: a b mod 2^32 q, < 2^32 q   (4 q^2 < 2^33 q)
    RF_METHOD Wide wide_mul(Word a, Word b) const { return reduced(mul_wide(a, b)); }
    // in: acc < 2^32 q, a, b < 2q   out: acc + a b mod 2^32 q, < 2^32 q
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return reduced(acc + wide_mul(a, b)); }
    // in: acc < 2^32 q   out: acc 2^-32 mod q, < 2q
    RF_METHOD Word wide_fold(Wide acc) const { return high(acc) - mul_hi(low(acc) * inverse, q) + q; }
    // in: acc < 2^32 q   out: acc 2^-32 mod q, < q   (for every B)
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return sub_once(wide_fold(acc), q);
    }

    // in: a b < 2^32 q   out: a b 2^-32 mod q, < q
    RF_METHOD Word mul_montgomery(Word a, Word b) const { return wide_reduce<1>(mul_wide(a, b)); }
    // in: any a   out: 2^32 a mod q, < q
    RF_METHOD Word to_montgomery(Word a) const { return mul_montgomery(a, r2); }
    // in: any a   out: 2^-32 a mod q, < q
    RF_METHOD Word from_montgomery(Word a) const { return wide_reduce<1>(a); }
    // in: a, b < q   out: a b mod q, < q   (Montgomery twice)
    RF_METHOD Word mul_plain(Word a, Word b) const { return mul_montgomery(mul_montgomery(a, b), r2); }

  private:
    // in: acc < 2^33 q   out: acc mod 2^32 q
    RF_METHOD Wide reduced(Wide acc) const { return join(low(acc), sub_once(high(acc), q)); }
};

}  // namespace rf
