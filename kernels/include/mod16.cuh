// Arithmetic modulo any q in [2, 2^16) in 32-bit registers: lazy residues, Shoup multiplication, Barrett reduction.
//
// A register has 16 bits more than q, so sums may grow to 65536 q before they must be reduced. A 32-bit accumulator
// holds up to (2^32 - 1) / q^2 products of residues, which Barrett reduction reduces without a Montgomery factor.
#pragma once
#include "shoup32.cuh"

namespace rf {

struct Mod16 {
    u32 q;
    u32 ratio;  // floor(2^32 / q)

    using Storage = u16;
    using Word = u32;
    using Twiddle = Twiddle32;
    using Wide = u32;

    static constexpr u32 product_bound = 2;
    static constexpr bool lazy = true;
    static constexpr bool wide_factor = false;  // wide_reduce returns acc mod q
    static constexpr bool wide_reduced = false;

    // in: w < q   out: w with its Shoup quotient   (divides, so use it for tables, not in inner loops)
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{w, (u32)(((u64)w << 32) / q)}; }

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

    // in: a b < 2^32   out: a b, not reduced
    RF_METHOD Wide wide_mul(Word a, Word b) const { return a * b; }
    // in: acc + a b < 2^32   out: acc + a b, not reduced
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return acc + a * b; }
    // in: any acc   out: acc mod q, < 2q
    RF_METHOD Word wide_fold(Wide acc) const { return barrett(acc, q, ratio); }
    // in: acc < B q^2, acc < 2^32   out: acc mod q, < 2q
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return wide_fold(acc);
    }

    // in: a b < 2^32   out: a b mod q, < q   (Barrett)
    RF_METHOD Word mul_plain(Word a, Word b) const { return canonical<2>(wide_fold(a * b)); }
};

}  // namespace rf
