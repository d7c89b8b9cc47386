// Arithmetic modulo q = 2^64 - 2^32 + 1, by its form: 2^64 = 2^32 - 1 and 2^96 = -1, so a product reduces by sums alone.
#pragma once
#include "word.cuh"

namespace rf {

// Nothing is lazy: every operand and result is in [0, q), unless it is said to be any word.
struct Goldilocks {
    u64 q;

    using Storage = u64;
    using Word = u64;
    // A known factor as it is.
    struct alignas(8) Twiddle {
        u64 w;
    };
    using Wide = u64;

    static constexpr u32 product_bound = 1;
    static constexpr bool lazy = false;
    static constexpr bool wide_factor = false;
    static constexpr bool wide_reduced = true;

    // in: w < q   out: w as a factor
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{w}; }
    // in: any x, any w.w   out: x times the factor, < q
    RF_METHOD Word mul(Word x, Twiddle w) const { return mul_plain(x, w.w); }

    // in: x < q   out: x
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        static_assert(B == 1, "residues of this type are always canonical");
        return x;
    }
    // in: x < q   out: x
    template <u32 B>
    RF_METHOD Word canonical(Word x) const {
        return reduce<B>(x);
    }

    // in: any x   out: x, < q   (x >= q where x + 2^32 - 1 has a carry, and what is left of it then is x - q)
    RF_METHOD Word reduce_any(Word x) const {
        Limbs less = limbs(x);
        const Limbs limb{0xffffffffu, 0};
        u32 carry = add_limbs<2>(less.limb, less.limb, limb.limb);
        return select(carry, word(less), x);
    }

    // in: a < q, b <= q, or any a, b <= 2^64 - 2^33   out: a + b, < q
    // Where the sum or the sum + 2^32 - 1 has a carry, what is left of the latter is a + b - q.
    RF_METHOD Word add(Word a, Word b) const {
        Limbs sum = limbs(a), less;
        const Limbs other = limbs(b), limb{0xffffffffu, 0};
        u32 carry = add_limbs<2>(sum.limb, sum.limb, other.limb);
        carry |= add_limbs<2>(less.limb, sum.limb, limb.limb);
        return select(carry, word(less), word(sum));
    }
    // in: any a, b <= q   out: a - b, < q if a is   (B has no meaning here)
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        Limbs difference = limbs(a);
        const Limbs other = limbs(b);
        const Limbs borrow{sub_limbs<2>(difference.limb, difference.limb, other.limb), 0};
        sub_limbs<2>(difference.limb, difference.limb, borrow.limb);
        return word(difference);
    }
    // in: b < q   out: -b, < q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return sub<1>(0, b);
    }

    // in: any a, b   out: a b, < q
    RF_METHOD Wide wide_mul(Word a, Word b) const { return mul_plain(a, b); }
    // in: acc < q, any a, b   out: acc + a b, < q
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return add(acc, mul_plain(a, b)); }
    // in: acc < q   out: acc
    RF_METHOD Word wide_fold(Wide acc) const { return acc; }
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return acc;
    }

    // in: any a, b   out: a b, < q
    // Of p = lo + 2^64 mid + 2^96 top, lo - top + (2^32 - 1) mid is left. 2^64 that was borrowed for the first two is given
    // back as 2^32 - 1, which fits: no top is that large.
    RF_METHOD Word mul_plain(Word a, Word b) const {
        const u128 p = mul_wide(a, b);
        return add(sub<1>(p.lo, high(p.hi)), mul_wide(low(p.hi), 0xffffffffu));
    }

  private:
    struct Limbs {
        u32 limb[2];
    };
    RF_METHOD Limbs limbs(u64 x) const { return Limbs{{low(x), high(x)}}; }
    RF_METHOD u64 word(const Limbs& x) const { return join(x.limb[0], x.limb[1]); }
};

}  // namespace rf
