// Arithmetic modulo odd q < 2^50 in doubles, for GPUs with full-rate double precision: Mod50.
//
// A word is a double that holds an integer of either sign: "< B q" bounds its absolute value, and B q <= 2^52.
//
// Products are exact by fused multiply-adds (TwoProduct). Let p = x w be an integer, |p| <= 2^101, and c an integer
// near p / q. h = round(p) differs from p by the integer l = p - h, at most 2^47, which one fused multiply-add computes
// exactly. Then h - c q = (p - c q) - l is an integer below 2^53, which a second fused multiply-add computes exactly.
// The sum of l and h - c q is p - c q. So nothing is lost, and the size of the result depends only on how near c is to
// p / q.
// To round y to an integer, |y| <= 2^51, magic = 1.5 2^52 is added: the sum is between 2^52 and 2^53, where doubles are
// the integers. The addition is fused into the product that gives y, so that y is rounded only once.
// No function returns -0 (sums that vanish are +0 unless both operands are -0), so the sign bit is set exactly for
// negative words.
#pragma once
#include "word.cuh"

namespace rf {

struct Mod50 {
    double q;
    double inverse;  // 1 / q, rounded

    using Storage = u64;
    using Word = double;
    // A known factor |w| < q / 2 and the quotient w / q, rounded.
    struct alignas(16) Twiddle {
        double w, quotient;
    };
    // A sum of products, each already reduced.
    using Wide = double;

    static constexpr u32 product_bound = 1;
    static constexpr bool lazy = true;
    static constexpr bool wide_factor = false;
    static constexpr bool wide_reduced = false;

    // in: |w| < q   out: w mod q as a Twiddle
    RF_METHOD Twiddle twiddle(Word w) const {
        w = reduce<2>(w);
        return Twiddle{w, w / q};
    }

    // in: |x| <= 2^52, |w.w| < q / 2   out: x w mod q, <= (1/2 + |x| 2^-54) q, so <= 3/4 q
    RF_METHOD Word mul(Word x, Twiddle w) const { return remainder(x, w.w, nearest(x, w.quotient)); }

    // in: x < B q   out: x if B <= 1, else x mod q, <= (q + 1) / 2. In both cases the result is < min(B, 1) q.
    // The relative error of the inverse is up to 2^-53, which changes x / q by up to 1 / (2q).
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        if constexpr (B <= 1) return x;
        else return __fma_rn(-nearest(x, inverse), q, x);
    }
    // in: x < B q   out: x mod q in [0, q)
    template <u32 B>
    RF_METHOD Word canonical(Word x) const {
        x = reduce<B>(x);
        return __dadd_rn(x, double_of(select_negative(bits_of(x), bits_of(q), 0ull)));
    }

    // in: |a + b| <= 2^52   out: a + b
    RF_METHOD Word add(Word a, Word b) const { return __dadd_rn(a, b); }
    // in: |a - b| <= 2^52   out: a - b   (for every B)
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        return __dadd_rn(a, -b);
    }
    // in: any b   out: -b   (for every B)
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return __dadd_rn(0.0, -b);
    }

    // in: a < A q, b < B q, A B q <= 2^50   out: a b mod q, < q.
    // The product and the inverse have relative errors of up to 2^-53 each, which change a b / q by less than 1/4 +
    // 2^-55.
    RF_METHOD Wide wide_mul(Word a, Word b) const { return remainder(a, b, nearest(__dmul_rn(a, b), inverse)); }
    // in: a, b as for wide_mul; acc, a sum of at most B products   out: acc + a b, a sum of at most B + 1 products
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return add(acc, wide_mul(a, b)); }
    // in: acc, a sum of at most B products, B q <= 2^52   out: acc mod q, < q
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return reduce<B>(acc);
    }
    // in: a, b < q   out: a b mod q in [0, q)
    RF_METHOD Word mul_plain(Word a, Word b) const { return canonical<1>(wide_mul(a, b)); }

  private:
    // in: |x y| <= 2^51   out: x y, rounded to an integer
    RF_METHOD double nearest(double x, double y) const {
        constexpr double magic = 6755399441055744.0;
        return __dadd_rn(__fma_rn(x, y, magic), -magic);
    }
    // in: |a b| <= 2^101, |a b - c q| < 2^52   out: a b - c q
    RF_METHOD double remainder(double a, double b, double c) const {
        double h = __dmul_rn(a, b), l = __fma_rn(a, b, -h);
        return __dadd_rn(__fma_rn(-c, q, h), l);
    }
};

}  // namespace rf
