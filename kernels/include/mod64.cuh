// Arithmetic modulo odd 64-bit q: Mod64 (q < 2^62, lazy, Shoup and Montgomery) and Mod64Full (q < 2^64, canonical,
// Montgomery).
//
// Residues are plain; a product of two variables carries the factor 2^-64 of Montgomery reduction.
#pragma once
#include "word.cuh"

namespace rf {

// q < 2^62: lazy residues may grow to 4q and beyond, to the limit of a word.
struct Mod64 {
    u64 q;
    u32 ratio;    // floor(2^(89 - shift) / q)
    u32 shift;    // 58 minus the bits of q, or 0
    u64 inverse;  // q^-1 mod 2^64
    u64 r2;       // 2^128 mod q

    using Storage = u64;
    using Word = u64;
    // A known factor w < q and its Shoup quotient floor(2^64 w / q).
    struct alignas(16) Twiddle {
        u64 w, quotient;
    };
    using Wide = u128;

    static constexpr u32 product_bound = 2;
    static constexpr bool lazy = true;
    static constexpr bool wide_factor = true;  // wide_reduce returns acc 2^-64
    static constexpr bool wide_reduced = false;

    // in: w < q   out: w with its Shoup quotient
    // Exact division: with r = 2^64 w mod q, the quotient is (2^64 w - r) / q = -r / q mod 2^64.
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{w, 0ull - to_montgomery(w) * inverse}; }

    // in: any x, w.w < q   out: x w mod q, < 2q   (Shoup; the quotient is exact or one too small)
    RF_METHOD Word mul(Word x, Twiddle w) const { return dot_lo(x, w.w, mul_hi(x, w.quotient), 0ull - q); }

    // in: x < B q, B <= 64   out: x mod q, < min(B, 2) q
    // Barrett reduction with the upper word of 2^shift x. Truncating it and the ratio causes relative errors of up to
    // 2^-25, so the quotient is exact or one too small.
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        static_assert(B <= 64, "2^shift x must fit in a word, so B must be at most 64");
        if constexpr (B <= 2) return x;
        else if constexpr (B <= 4) return sub_once(x, 2 * q);
        else return x + (u64)(mul_hi(high(x << shift), ratio) >> 25) * (0ull - q);
    }
    // in: x < B q   out: x mod q, < q
    template <u32 B>
    RF_METHOD Word canonical(Word x) const {
        if constexpr (B <= 1) return x;
        else return sub_once(reduce<B>(x), q);
    }

    // in: any x   out: x mod q, < q   (a Montgomery product by 2^64 mod q, which the compiler computes once)
    RF_METHOD Word reduce_any(Word x) const { return mul_montgomery(x, to_montgomery(1)); }

    // in: a + b < 2^64   out: a + b, not reduced
    RF_METHOD Word add(Word a, Word b) const { return a + b; }
    // in: b <= B q, a + B q < 2^64   out: a - b + B q, not reduced
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
    // in: acc + a b < 2^128   out: acc + a b, not reduced
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return mad_wide(a, b, acc); }
    // in: acc + 2^64 q < 2^128   out: acc 2^-64 mod q, <= acc / 2^64 + q
    RF_METHOD Word wide_fold(Wide acc) const { return acc.hi - mul_hi(mad_lo(acc.lo, inverse, 0), q) + q; }
    // in: acc < B q^2, acc + 2^64 q < 2^128   out: acc 2^-64 mod q, < 2q   (B <= 12 suits every q; a product of
    //     residues below 2q counts as B = 4)
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return reduce<1 + (B + 3) / 4>(wide_fold(acc));
    }

    // in: a b < 2^64 q   out: a b 2^-64 mod q, < q
    RF_METHOD Word mul_montgomery(Word a, Word b) const { return canonical<2>(wide_fold(mul_wide(a, b))); }
    // in: any a   out: 2^64 a mod q, < q
    RF_METHOD Word to_montgomery(Word a) const { return mul_montgomery(a, r2); }
    // in: any a   out: 2^-64 a mod q, < q
    RF_METHOD Word from_montgomery(Word a) const { return canonical<2>(wide_fold(u128{a, 0})); }
    // in: a b < 2^64 q   out: a b mod q, < q   (Montgomery twice)
    RF_METHOD Word mul_plain(Word a, Word b) const {
        return mul_montgomery(wide_fold(mul_wide(a, b)), r2);
    }
};

// Arithmetic modulo any odd q < 2^64. Residues are canonical: every operand and result is in [0, q).
struct Mod64Full {
    u64 q;
    u32 ratio, shift;  // unused, so that both types have the same layout
    u64 inverse;  // q^-1 mod 2^64
    u64 r2;       // 2^128 mod q

    using Storage = u64;
    using Word = u64;
    // A known factor f in Montgomery form: w = 2^64 f mod q.
    struct alignas(8) Twiddle {
        u64 w;
    };
    using Wide = u64;

    static constexpr u32 product_bound = 1;
    static constexpr bool lazy = false;
    static constexpr bool wide_factor = true;  // a wide product is already reduced and carries 2^-64
    static constexpr bool wide_reduced = true;

    // in: w < q   out: w as a Twiddle
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{to_montgomery(w)}; }
    // in: x < q; w, the Twiddle of a factor f   out: x f mod q, < q
    RF_METHOD Word mul(Word x, Twiddle w) const { return mul_montgomery(x, w.w); }

    // in: x < q   out: x
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        static_assert(B == 1, "residues of this type are canonical, so B must be 1");
        return x;
    }
    // in: x < q   out: x
    template <u32 B>
    RF_METHOD Word canonical(Word x) const {
        return reduce<B>(x);
    }

    // in: any x   out: x mod q, < q   (if q has its top bit set, x < 2q and one subtraction suffices; else as in Mod64)
    RF_METHOD Word reduce_any(Word x) const {
        if (q >> 63) return x - select(x >= q, q, 0ull);
        return mul_montgomery(x, to_montgomery(1));
    }

    // in: a, b < q   out: a + b mod q, < q
    RF_METHOD Word add(Word a, Word b) const { return sub<1>(a, q - b); }
    // in: a < q, b <= q   out: a - b mod q, < q   (for every B)
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        u64 t = a - b;
        return t + select(a < b, q, 0ull);
    }
    // in: b < q   out: -b mod q, < q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return sub<1>(0, b);
    }

    // in: a b < 2^64 q   out: a b 2^-64 mod q, < q
    RF_METHOD Wide wide_mul(Word a, Word b) const { return mul_montgomery(a, b); }
    // in: acc < q, a b < 2^64 q   out: acc + a b 2^-64 mod q, < q
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return add(acc, mul_montgomery(a, b)); }
    // in: acc < q   out: acc   (it includes the factor 2^-64)
    RF_METHOD Word wide_fold(Wide acc) const { return acc; }
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return acc;
    }

    // in: a b < 2^64 q   out: a b 2^-64 mod q, < q
    RF_METHOD Word mul_montgomery(Word a, Word b) const {
        u128 p = mul_wide(a, b);
        return sub<1>(p.hi, mul_hi(mad_lo(p.lo, inverse, 0), q));
    }
    // in: any a   out: 2^64 a mod q, < q
    RF_METHOD Word to_montgomery(Word a) const { return mul_montgomery(a, r2); }
    // in: any a   out: 2^-64 a mod q, < q
    RF_METHOD Word from_montgomery(Word a) const { return sub<1>(0, mul_hi(a * inverse, q)); }
    // in: a b < 2^64 q   out: a b mod q, < q   (Montgomery twice)
    RF_METHOD Word mul_plain(Word a, Word b) const { return mul_montgomery(mul_montgomery(a, b), r2); }
};

}  // namespace rf
