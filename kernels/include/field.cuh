// Prime fields as types, for any odd prime of up to N limbs, N even: canonical residues in Montgomery form, R = 2^(32 N).
//
// For a prime q with q + 1 = (2^32 - 1)(2^224 - 2^64), the prime of SM2, Montgomery reduction needs no products; q of
// this form is detected at compile time. A product then costs the 64 limb products of a b, and a square 36: 148 and 92
// issue slots of the multiplier on sm_90.
#pragma once
#include "montgomery.cuh"

namespace rf {

// out: t = a b, 16 limbs: 64 products
RF_FN void product_limbs(u32* t, const u32* a, const u32* b) {
    // `even` sums the products of limbs i, j with i + j even, and `odd` those with i + j odd, from one limb higher on.
    // The limb above each row of products holds the row's carry.
    u32 even[17], odd[16];
    row_mul<8>(even, a, b[0]);
    row_mul<8>(odd, a + 1, b[0]);
    u32 even_carry = 0, odd_carry = 0;
    RF_UNROLL
    for (u32 j = 1; j < 8; j += 2) {
        // The products of b[j] with the odd limbs of a begin at limb j + 1, those with the even limbs at limb j. Both
        // rows end one product beyond the earlier rows.
        row_mad_end<8>(even + j + 1, a + 1, b[j], even_carry);
        odd_carry = 0;
        row_mad<8>(odd + j - 1, a, b[j], odd_carry);
        if (j == 7) break;
        even_carry = 0;
        row_mad<8>(even + j + 1, a, b[j + 1], even_carry);
        row_mad_end<8>(odd + j + 1, a + 1, b[j + 1], odd_carry);
    }
    t[0] = even[0];
    odd[14] = odd_carry;
    add_limbs<15>(t + 1, even + 1, odd);
}

// out: t = a^2, 16 limbs: 36 products
RF_FN void square_limbs(u32* t, const u32* a) {
    // Each product of two different limbs i, j is computed once. `even` (i + j even) begins at limb 2, `odd` at limb 1.
    // The remarks below list i + j.
    u32 even[12], odd[14], twice[16];
    row_mul<6>(even, a + 2, a[0]);      // 2, 4, 6
    row_mul<8>(odd, a + 1, a[0]);       // 1, 3, 5, 7
    row_mad_end<6>(even + 2, a + 3, a[1], 0);  // 4, 6, 8
    u32 carry = 0;
    row_mad<6>(odd + 2, a + 2, a[1], carry);   // 3, 5, 7
    odd[8] = carry;
    carry = 0;
    row_mad<4>(even + 4, a + 4, a[2], carry);  // 6, 8
    row_mad_end<6>(odd + 4, a + 3, a[2], odd[8]);  // 5, 7, 9
    row_mad_end<4>(even + 6, a + 5, a[3], carry);  // 8, 10
    carry = 0;
    row_mad<4>(odd + 6, a + 4, a[3], carry);   // 7, 9
    row_mad_end<4>(odd + 8, a + 5, a[4], carry);  // 9, 11
    carry = 0;
    row_mad<2>(even + 8, a + 6, a[4], carry);  // 10
    row_mad_end<2>(even + 10, a + 7, a[5], carry);  // 12
    carry = 0;
    row_mad<2>(odd + 10, a + 6, a[5], carry);  // 11
    row_mad_end<2>(odd + 12, a + 7, a[6], carry);  // 13
    u32 sum[15];  // from limb 1
    sum[0] = odd[0];
    u32 over = add_limbs<12>(sum + 1, odd + 1, even);
    sum[13] = odd[13] + over;
    sum[14] = 0;
    twice[0] = 0;
    add_limbs<15>(twice + 1, sum, sum);
    square_row(t, a, twice);
}

// Q describes an odd prime q at compile time: Q::limbs is the number N of its limbs; Q::limb(i), Q::one(i) and Q::r2(i),
// i < N, are the limbs of q, 2^(32 N) mod q and 2^(64 N) mod q; Q::inverse is -q^-1 mod 2^32.
//
// For a constant limb of 1 or 2^32 - 1, ptxas splits each multiply-add with carry into two instructions.
template <class Q>
struct Field {
    static constexpr u32 limbs = Q::limbs;
    static constexpr bool full = Q::limb(limbs - 1) >> 31;
    using Word = Limbs<limbs>;

    // True if q + 1 = (2^32 - 1)(2^224 - 2^64).
    RF_CONST bool is_sparse() {
        if (limbs != 8) return false;
        for (u32 i = 0; i < 8; i++)
            if (Q::limb(i) != (i == 2 ? 0 : i == 7 ? 0xfffffffe : 0xffffffff)) return false;
        return true;
    }

    // out: q
    RF_METHOD static Word modulus() {
        Word r;
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) r.limb[i] = Q::limb(i);
        return r;
    }
    // out: x
    RF_METHOD static Word small(u32 x) {
        Word r;
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) r.limb[i] = i == 0 ? x : 0;
        return r;
    }
    RF_METHOD static Word zero() { return small(0); }
    // out: 2^(32 N) mod q: 1 in Montgomery form
    RF_METHOD static Word one() {
        Word r;
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) r.limb[i] = Q::one(i);
        return r;
    }

    // out: 2^(64 N) mod q
    RF_METHOD static Word r2() {
        Word r;
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) r.limb[i] = Q::r2(i);
        return r;
    }
    // out: q^-1 mod 2^30
    RF_CONST u32 inverse_30() { return (0 - Q::inverse) & 0x3fffffff; }

    // in: a, b < q   out: a + b mod q, < q
    RF_METHOD static Word add(Word a, Word b) {
        Word r;
        u32 carry = add_limbs<limbs>(r.limb, a.limb, b.limb);
        return sub_once(r, carry);
    }
    // in: a, b < q   out: a - b mod q, < q
    RF_METHOD static Word sub(Word a, Word b) {
        Word r, lift = modulus();
        u32 mask = sub_limbs<limbs>(r.limb, a.limb, b.limb);
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) lift.limb[i] &= mask;
        add_limbs<limbs>(r.limb, r.limb, lift.limb);
        return r;
    }
    // in: a < q   out: a / 2 mod q, < q
    RF_METHOD static Word half(Word a) {
        Word lift = modulus();
        u32 mask = 0 - (a.limb[0] & 1), sum[limbs + 1];
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) lift.limb[i] &= mask;
        sum[limbs] = add_limbs<limbs>(sum, a.limb, lift.limb);
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) a.limb[i] = sum[i] >> 1 | sum[i + 1] << 31;
        return a;
    }
    // in: x + 2^(32 N) carry < 2q   out: (x + 2^(32 N) carry) mod q, < q
    RF_METHOD static Word sub_once(Word x, u32 carry) {
        return sub_modulus_once<limbs, full>(x, carry, modulus().limb);
    }
    // in: any x   out: 1 if x < q, else 0
    RF_METHOD static u32 is_reduced(Word x) {
        Word t, q = modulus();
        return sub_limbs<limbs>(t.limb, x.limb, q.limb) & 1;
    }

    // in: a, b < q   out: a b 2^(-32 N) mod q, < q
    RF_METHOD static Word mul(Word a, Word b) {
        if constexpr (is_sparse()) {
            u32 t[16];
            product_limbs(t, a.limb, b.limb);
            return reduce(t);
        } else {
            return montgomery(a, b);
        }
    }
    // in: a < q   out: a^2 2^(-32 N) mod q, < q
    RF_METHOD static Word square(Word a) {
        if constexpr (is_sparse()) {
            u32 t[16];
            square_limbs(t, a.limb);
            return reduce(t);
        } else {
            return montgomery(a, a);
        }
    }
    // in: a, b, c, d < q   out: (a b - c d) 2^(-32 N) mod q, < q   (one reduction; if a b and c d differ, the result may
    //     be q instead of 0)
    RF_METHOD static Word mul_sub(Word a, Word b, Word c, Word d) {
        if constexpr (is_sparse()) {
            u32 t[16], u[16];
            product_limbs(t, a.limb, b.limb);
            product_limbs(u, c.limb, d.limb);
            return reduce_difference(t, u);
        } else {
            return sub(mul(a, b), mul(c, d));
        }
    }
    // in: a, b, c < q   out: (a b - c^2) 2^(-32 N) mod q, < q   (may be q instead of 0, as in mul_sub)
    RF_METHOD static Word mul_sub_square(Word a, Word b, Word c) {
        if constexpr (is_sparse()) {
            u32 t[16], u[16];
            product_limbs(t, a.limb, b.limb);
            square_limbs(u, c.limb);
            return reduce_difference(t, u);
        } else {
            return sub(mul(a, b), square(c));
        }
    }
    // in: any a   out: 2^(32 N) a mod q, < q: converts from plain to Montgomery form
    RF_METHOD static Word to_montgomery(Word a) { return mul(r2(), a); }
    // in: a < q   out: 2^(-32 N) a mod q, < q: converts from Montgomery to plain form
    RF_METHOD static Word from_montgomery(Word a) { return mul(a, small(1)); }

    // in: a < q   out: 1 / a in Montgomery form, < q; 0 if a is 0   (a^(q-2) with 4-bit windows)
    RF_METHOD static Word inverse(Word a) {
        Word powers[16], exponent = modulus(), r = one();
        sub_limbs<limbs>(exponent.limb, exponent.limb, small(2).limb);
        powers[0] = r;
        RF_LOOP
        for (u32 i = 1; i < 16; i++) powers[i] = r = mul(r, a);
        r = powers[0];
        RF_LOOP
        for (u32 i = 8 * limbs; i-- > 0;) {
            RF_LOOP
            for (u32 j = 0; j < 4; j++) r = square(r);
            r = mul(r, powers[exponent.limb[i / 8] >> 4 * (i % 8) & 15]);
        }
        return r;
    }

  private:
    RF_METHOD static Word montgomery(const Word& a, const Word& b) {
        return mul_montgomery<limbs, full>(a, b, modulus().limb, Q::inverse);
    }
    // Montgomery reduction.   in: t < 2^256 q, q sparse   out: t 2^-256 mod q, < q
    RF_METHOD static Word reduce(const u32* t) {
        // Adding m q clears the lower half of t. With b = (2^32 - 1) m, m q = b 2^224 - b 2^64 - m. So limb i of m is
        // limb i of t - b 2^64 (plus b 2^224 for i = 7). Two limbs are found at a time, since b 2^64 begins two limbs
        // higher.
        u32 m[8], b[9], below, above;
        m[0] = t[0], m[1] = t[1];
        const u32 shifted[2] = {0, m[0]};
        above = sub_limbs<2>(b, shifted, m);
        below = sub_limbs<2>(m + 2, t + 2, b);
        above = sub_limbs_from<2>(b + 2, m + 1, m + 2, above);
        below = sub_limbs_from<2>(m + 4, t + 4, b + 2, below);
        above = sub_limbs_from<2>(b + 4, m + 3, m + 4, above);
        below = sub_limbs_from<2>(m + 6, t + 6, b + 4, below);
        u32 carry = add_limbs<1>(m + 7, m + 7, b);
        // t 2^-256 is the upper half of t - b 2^64 + b 2^224. At the same time q + 1 = 2^256 - 2^224 - 2^96 + 2^64 is
        // subtracted. Its term 2^64 is added to b[8] < 2^32 - 1. Its other limbs go above b in `wide`, which subtracts
        // 2^224 too much. The new b[8] in b 2^224 adds this 2^224 back. The result is negative exactly if q need not be
        // subtracted. (A result of q would not be reduced, but q arises only from products with q.)
        const u32 last[3] = {m[6], m[7], 0xffffffff};
        sub_limbs_from<3>(b + 6, m + 5, last, above);
        const u32 wide[8] = {b[6], b[7], b[8], 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
        Word r;
        below = sub_limbs_from<8>(r.limb, t + 8, wide, below);
        carry = add_limbs_from<8>(r.limb, r.limb, b + 1, carry);
        // Adds q + 1 if the result is negative, else 1. Both are added by subtracting their complements.
        u32 kept = ~(carry + below);
        const u32 back[8] = {kept, kept, 0xffffffff, kept, kept, kept, kept, kept | 1};
        sub_limbs<limbs>(r.limb, r.limb, back);
        return r;
    }
    // in: t, u < 2^256 q, q sparse   out: (t - u) 2^-256 mod q, < q, or q instead of 0; t is overwritten
    RF_METHOD static Word reduce_difference(u32* t, const u32* u) {
        Word lift = modulus();
        u32 mask = sub_limbs<16>(t, t, u);
        RF_UNROLL
        for (u32 i = 0; i < limbs; i++) lift.limb[i] &= mask;
        add_limbs<limbs>(t + 8, t + 8, lift.limb);
        return reduce(t);
    }
};

// The field F with products as function calls. Use it between the rounds of a hot loop, so that the loop's own
// instructions stay close together; the loop itself is faster with inlined products.
template <class F>
struct Called : F {
    RF_CALL typename F::Word mul(typename F::Word a, typename F::Word b) { return F::mul(a, b); }
    RF_CALL typename F::Word square(typename F::Word a) { return F::square(a); }
};

// out: a, or 1 if a is 0 (selected by a mask), so that zeros do not change a product
template <class F>
RF_FN typename F::Word nonzero(const typename F::Word& a) {
    return select(is_zero(a), F::one(), a);
}

// Montgomery's trick (1987): one inversion for n elements.
// in: a[0 .. n), which may contain zeros; before[0 .. n), scratch   out: a[i] = 1 / a[i]; zeros stay zero
template <class F>
RF_FN void invert_all(typename F::Word* a, typename F::Word* before, u32 n) {
    using Word = typename F::Word;
    Word product = F::one();
    RF_LOOP
    for (u32 i = 0; i < n; i++) {
        before[i] = product;
        product = F::mul(product, nonzero<F>(a[i]));
    }
    Word inverse = F::inverse(product);
    RF_LOOP
    for (u32 i = n; i-- > 0;) {
        Word x = a[i];
        a[i] = select(is_zero(x), x, F::mul(inverse, before[i]));
        inverse = F::mul(inverse, nonzero<F>(x));
    }
}

}  // namespace rf
