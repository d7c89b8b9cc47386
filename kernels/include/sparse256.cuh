// Arithmetic modulo a prime q between 2^255 and 2^256 with sparse limbs: canonical residues in Montgomery form, R = 2^256.
//
// q is written in nine signed digits of 32 bits, all of them 0, 1 or -1, the lowest -1 and the highest 1: the prime of SM2
// is 2^256 - 2^224 - 2^96 + 2^64 - 1. Then -q^-1 = 1 mod 2^32, so that a Montgomery step needs no product: what clears
// a limb m is m q, a few additions of m. All products of limbs are those of a b, 64 of them, and of a square 36.
#pragma once
#include "mod256.cuh"

namespace rf {

// out: t = a b, 16 limbs: 64 products
RF_FN void product_limbs(u32* t, const u32* a, const u32* b) {
    // products of limbs i, j with i + j even, and odd ones one position up; the limb above a row holds its carry
    u32 even[17], odd[16];
    row_mul<8>(even, a, b[0]);
    row_mul<8>(odd, a + 1, b[0]);
    u32 even_carry = 0, odd_carry = 0;
    RF_UNROLL
    for (u32 j = 1; j < 8; j += 2) {
        // row j of the odd limbs of a begins at j + 1, that of the even ones at j: both reach one product further
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
    // products of different limbs once: i + j even, from limb 2, and odd, from limb 1
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

// Q::limb(i), i < 8: the limbs of q, constexpr.
template <class Q>
struct Sparse256 {
    using Word = u256;

    // The signed digits of q.
    RF_CONST i32 digit(u32 j) {
        u64 carry = 0;
        for (u32 i = 0; i < 8; i++) {
            u64 v = Q::limb(i) + carry;
            carry = v > 1;
            if (i == j) return v == 1 ? 1 : v == 0xffffffff ? -1 : 0;
        }
        return (i32)carry;
    }
    RF_CONST bool is_sparse() {
        u64 carry = 0;
        for (u32 i = 0; i < 8; i++) {
            u64 v = Q::limb(i) + carry;
            if (v > 1 && v < 0xffffffff) return false;
            carry = v > 1;
        }
        return digit(0) == -1 && digit(8) == 1;
    }
    static_assert(is_sparse(), "digits of q other than 0, 1 and -1");

    // out: 2^256 mod q = 2^256 - q: 1 in Montgomery form
    RF_METHOD static Word one() {
        Word zero = {}, q = modulus();
        sub_limbs<8>(zero.limb, zero.limb, q.limb);
        return zero;
    }
    // out: q
    RF_METHOD static Word modulus() {
        return {{Q::limb(0), Q::limb(1), Q::limb(2), Q::limb(3), Q::limb(4), Q::limb(5), Q::limb(6), Q::limb(7)}};
    }

    // in: a, b < q   out: a + b, < q
    RF_METHOD static Word add(Word a, Word b) {
        Word r;
        u32 carry = add_limbs<8>(r.limb, a.limb, b.limb);
        return sub_once(r, carry);
    }
    // in: a, b < q   out: a - b, < q
    RF_METHOD static Word sub(Word a, Word b) {
        Word r, lift = modulus();
        u32 mask = sub_limbs<8>(r.limb, a.limb, b.limb);
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) lift.limb[i] &= mask;
        add_limbs<8>(r.limb, r.limb, lift.limb);
        return r;
    }
    // in: a < q   out: a / 2, < q
    RF_METHOD static Word half(Word a) {
        Word lift = modulus();
        u32 mask = 0 - (a.limb[0] & 1), sum[9];
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) lift.limb[i] &= mask;
        sum[8] = add_limbs<8>(sum, a.limb, lift.limb);
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) a.limb[i] = __funnelshift_r(sum[i], sum[i + 1], 1);
        return a;
    }
    // in: a < q   out: 1 if a is 0, else 0
    RF_METHOD static u32 is_zero(Word a) {
        u32 any = 0;
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) any |= a.limb[i];
        return any == 0;
    }

    // in: a, b < q   out: a b 2^-256, < q
    RF_METHOD static Word mul(Word a, Word b) {
        u32 t[16];
        product_limbs(t, a.limb, b.limb);
        return reduce(t);
    }
    // in: a < q   out: a^2 2^-256, < q
    RF_METHOD static Word square(Word a) {
        u32 t[16];
        square_limbs(t, a.limb);
        return reduce(t);
    }
    // in: a < q   out: 2^-256 a, < q: Montgomery form to plain
    RF_METHOD static Word from_montgomery(Word a) {
        u32 t[16] = {};
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) t[i] = a.limb[i];
        return reduce(t);
    }

    // in: x + 2^256 carry < 2q   out: the same mod q, < q
    RF_METHOD static Word sub_once(Word x, u32 carry) {
        Word t, q = modulus();
        u32 borrow = sub_limbs<8>(t.limb, x.limb, q.limb);
        select_limbs<8>(t.limb, borrow & (carry - 1), x.limb, t.limb);
        return t;
    }

    // in: t < 2^256 q   out: t 2^-256 mod q, < q
    RF_METHOD static Word reduce(const u32* t) {
        // m is the multiple of q that clears the lower half of t: t + m q, column by column
        u32 m[8];
        Word r;
        i64 carry = 0;
        RF_UNROLL
        for (u32 i = 0; i < 16; i++) {
            i64 sum = carry + t[i];
            RF_UNROLL
            for (u32 j = 1; j <= 8; j++) {
                if (i < j || i - j > 7) continue;
                if (digit(j) == 1) sum += m[i - j];
                if (digit(j) == -1) sum -= m[i - j];
            }
            carry = sum >> 32;
            if (i < 8) m[i] = low((u64)sum);
            else r.limb[i - 8] = low((u64)sum);
        }
        return sub_once(r, (u32)carry);
    }
};

}  // namespace rf
