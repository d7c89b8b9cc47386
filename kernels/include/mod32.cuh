// Arithmetic modulo odd q < 2^30 in 32-bit words: lazy residues below 4q, Shoup, Barrett and Montgomery with R = 2^32.
//
// Residues are plain. Only a product of two variables passes through Montgomery reduction; it then carries the factor
// 2^-32, which the caller cancels once, in a twiddle factor or with mul_plain.
#pragma once
#include "shoup32.cuh"

namespace rf {

struct Mod32 {
    u32 q;
    u32 ratio;    // floor(2^32 / q)
    u32 inverse;  // q^-1 mod 2^32
    u32 r2;       // 2^64 mod q

    using Storage = u32;
    using Word = u32;
    using Twiddle = Twiddle32;
    using Wide = u64;

    static constexpr u32 product_bound = 2;
    static constexpr bool lazy = true;
    static constexpr bool wide_factor = true;  // wide_reduce returns acc 2^-32
    static constexpr bool wide_reduced = false;

    // in: w < q   out: w with its Shoup quotient
    // Exact division: with r = 2^32 w mod q, the quotient is (2^32 w - r) / q = -r / q mod 2^32.
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{w, 0u - to_montgomery(w) * inverse}; }

    // in: any x, w.w < q   out: x w mod q, < 2q
    RF_METHOD Word mul(Word x, Twiddle w) const { return shoup_mul(x, w, q); }

    // in: x < B q   out: x mod q, < min(B, 2) q
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        return reduce32<B>(x, q, ratio);
    }
    // in: x < B q   out: x mod q, < q
    template <u32 B>
    RF_METHOD Word canonical(Word x) const {
        return canonical32<B>(x, q, ratio);
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

    // in: any a, b   out: a b, not reduced
    RF_METHOD Wide wide_mul(Word a, Word b) const { return mul_wide(a, b); }
    // in: acc + a b < 2^64   out: acc + a b, not reduced
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return mad_wide(a, b, acc); }
    // in: acc + 2^32 q < 2^64   out: acc 2^-32 mod q, <= acc / 2^32 + q
    RF_METHOD Word wide_fold(Wide acc) const { return high(acc) - mul_hi(low(acc) * inverse, q) + q; }
    // in: acc < B q^2, acc + 2^32 q < 2^64   out: acc 2^-32 mod q, < 2q   (B <= 12 suits every q; a product of residues
    //     below 2q counts as B = 4)
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return reduce<1 + (B + 3) / 4>(wide_fold(acc));
    }

    // in: a b < 2^32 q   out: a b 2^-32 mod q, < q
    RF_METHOD Word mul_montgomery(Word a, Word b) const { return canonical<2>(wide_fold(mul_wide(a, b))); }
    // in: any a   out: 2^32 a mod q, < q
    RF_METHOD Word to_montgomery(Word a) const { return mul_montgomery(a, r2); }
    // in: any a   out: 2^-32 a mod q, < q
    RF_METHOD Word from_montgomery(Word a) const { return canonical<2>(wide_fold(a)); }
    // in: a b < 2^32 q   out: a b mod q, < q   (Montgomery twice)
    RF_METHOD Word mul_plain(Word a, Word b) const {
        return mul_montgomery(wide_fold(mul_wide(a, b)), r2);
    }
};

}  // namespace rf
