// Arithmetic modulo the Goldilocks prime q = 2^64 - 2^32 + 1. Since 2^64 = 2^32 - 1 and 2^96 = -1 modulo q, products
// reduce by additions alone. Montgomery products, which carry the factor 2^-64, need fewer additions.
#pragma once
#include "rotations.cuh"
#include "word.cuh"

namespace rf {

// Residues are canonical: every operand and result is in [0, q), unless a function's contract allows any word.
struct Goldilocks {
    u64 q;

    using Storage = u64;
    using Word = u64;
    // A known factor f in Montgomery form: w = 2^64 f mod q.
    struct alignas(8) Twiddle {
        u64 w;
    };
    using Wide = u64;

    static constexpr u32 product_bound = 1;
    static constexpr bool lazy = false;
    static constexpr bool wide_factor = false;
    static constexpr bool wide_reduced = true;

    // in: w < q   out: w as a Twiddle
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{mul_plain(w, 0xffffffffu)}; }
    // in: any x; w, the Twiddle of a factor f   out: x f mod q, < q
    RF_METHOD Word mul(Word x, Twiddle w) const { return reduce_folded(mul_wide(x, w.w)); }

    // The transform that computes a radix-2^k pass (`Group` in ntt.cuh).
    template <u32 Layers, u32 Sixteenth>
    using Network = Rotations<Layers, Sixteenth>;
    // in: any x; w, the Twiddle of a factor f   out: an integer between -2^65 and 2^64 that is x f modulo q
    RF_METHOD i96 point(Word x, Twiddle w) const { return reduce_signed(mul_wide(x, w.w)); }

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

    // in: any x   out: x mod q, < q
    RF_METHOD Word reduce_any(Word x) const { return add(x, 0); }

    // in: a, b < q, or any word a and b <= 2^64 - 2^33   out: a + b mod q, < q
    RF_METHOD Word add(Word a, Word b) const { return add_folded(a, b); }
    // in: any word a; b <= q   out: a word congruent to a - b, < q if a < q   (for every B)
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        return sub_folded(a, b);
    }
    // in: b < q   out: -b mod q, < q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return sub<1>(0, b);
    }

    // in: any a, b   out: a b mod q, < q
    RF_METHOD Wide wide_mul(Word a, Word b) const { return mul_plain(a, b); }
    // in: acc < q, any a, b   out: acc + a b mod q, < q
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return add(acc, mul_plain(a, b)); }
    // in: acc < q   out: acc
    RF_METHOD Word wide_fold(Wide acc) const { return acc; }
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return acc;
    }

    // in: any a, b   out: a b mod q, < q
    // The product p = lo + 2^64 mid + 2^96 top reduces to lo - top + (2^32 - 1) mid. If lo - top borrows 2^64, 2^32 - 1
    // is subtracted for it, which does not borrow again because top < 2^32.
    RF_METHOD Word mul_plain(Word a, Word b) const {
        const u128 p = mul_wide(a, b);
        return add(sub<1>(p.lo, high(p.hi)), mul_wide(low(p.hi), 0xffffffffu));
    }
};

}  // namespace rf
