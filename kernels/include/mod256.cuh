// Arithmetic modulo any odd q < 2^256 in eight 32-bit limbs: canonical residues in Montgomery form (1985), R = 2^256.
//
// Pass a modulus of this type as a kernel argument rather than as a constant: for a constant limb of 1 or 2^32 - 1
// (BLS12-381's r), ptxas splits each multiply-add with carry into two instructions.
#pragma once
#include "montgomery.cuh"

namespace rf {

// Full: q may have its top bit set.
template <bool Full>
struct Mod256Of {
    u32 q[8];
    u32 inverse;  // -q^-1 mod 2^32
    u32 one[8];   // 2^256 mod q
    u32 r2[8];    // 2^512 mod q

    using Storage = u256;
    using Word = u256;
    // A known factor in Montgomery form.
    struct Twiddle {
        u256 w;
    };
    using Wide = u256;

    static constexpr u32 product_bound = 1;
    static constexpr bool lazy = false;
    static constexpr bool wide_factor = false;  // Montgomery form times Montgomery form is Montgomery form
    static constexpr bool wide_reduced = true;

    // in: w < q, in Montgomery form   out: w as a Twiddle
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{w}; }
    // in: x, w < q   out: x w 2^-256 mod q, < q
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

    // in: any x   out: x mod q, < q
    RF_METHOD Word reduce_any(Word x) const {
        Word w;
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) w.limb[i] = one[i];
        return mul_montgomery(w, x);
    }

    // in: a, b < q   out: a + b mod q, < q
    RF_METHOD Word add(Word a, Word b) const {
        Word r;
        u32 carry = add_limbs<8>(r.limb, a.limb, b.limb);
        return sub_q_once(r, carry);
    }
    // in: a, b < q   out: a - b mod q, < q   (for every B)
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        Word r, lift;
        u32 mask = sub_limbs<8>(r.limb, a.limb, b.limb);
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) lift.limb[i] = q[i] & mask;
        add_limbs<8>(r.limb, r.limb, lift.limb);
        return r;
    }
    // in: b < q   out: -b mod q, < q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return sub<1>(Word{{0, 0, 0, 0, 0, 0, 0, 0}}, b);
    }

    // in: a, b < q   out: a b 2^-256 mod q, < q
    RF_METHOD Wide wide_mul(Word a, Word b) const { return mul_montgomery(a, b); }
    // in: acc, a, b < q   out: acc + a b 2^-256 mod q, < q
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return add(acc, mul_montgomery(a, b)); }
    // in: acc < q   out: acc
    RF_METHOD Word wide_fold(Wide acc) const { return acc; }
    template <u32 B>
    RF_METHOD Word wide_reduce(Wide acc) const {
        return acc;
    }

    // in: a < q, any b   out: a b 2^-256 mod q, < q
    RF_METHOD Word mul_montgomery(Word a, Word b) const { return rf::mul_montgomery<8, Full>(a, b, q, inverse); }
    // in: a < q   out: 2^256 a mod q, < q: converts from plain to Montgomery form
    RF_METHOD Word to_montgomery(Word a) const {
        Word w;
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) w.limb[i] = r2[i];
        return mul_montgomery(a, w);
    }
    // in: a < q   out: 2^-256 a mod q, < q: converts from Montgomery to plain form
    RF_METHOD Word from_montgomery(Word a) const {
        return mul_montgomery(a, Word{{1, 0, 0, 0, 0, 0, 0, 0}});
    }
    // in: a, b < q, plain   out: a b mod q, plain, < q
    RF_METHOD Word mul_plain(Word a, Word b) const { return to_montgomery(mul_montgomery(a, b)); }

    // in: x + 2^256 carry < 2q   out: (x + 2^256 carry) mod q, < q
    RF_METHOD Word sub_q_once(Word x, u32 carry) const { return sub_modulus_once<8, Full>(x, carry, q); }
};

using Mod256 = Mod256Of<true>;

}  // namespace rf
