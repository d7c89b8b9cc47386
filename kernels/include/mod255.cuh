// Arithmetic modulo odd q < 2^255 - 2^230 in eight 32-bit limbs, for transforms: Shoup multiplication, residues below
// 2q.
//
// Data stays in Montgomery form (x stands for x 2^-256) and known factors w are plain, so that products stay in
// Montgomery form. A factor comes with its quotient w' = floor(2^256 w / q), and x w - floor(x w' / 2^256) q is a
// residue. Of x w' only the 43 partial products of limbs i + j >= 6 are computed, and of the other two products only
// the lower halves.
//
// -q mod 2^256 is written in signed 32-bit digits: a digit 1 or -1 costs an addition instead of eight products, and 0
// nothing. `Digits` gives the kind of each digit (BLS12-381's r: -1, 1, then six full ones). A product takes 186
// multiplier slots for that r and 214 for eight full digits; a Montgomery product takes 264.
#pragma once
#include "mod256.cuh"

namespace rf {

// Digits: two bits for each digit, least significant first: 0 full (its value is in `digit`), 1 zero, 2 one, 3 minus
// one.
template <u32 Digits>
struct Mod255 : Mod256Of<false> {
    u32 digit[8];  // of -q mod 2^256
    u32 twice[8];  // 2q
    u32 minus_inverse[8];  // -q^-1 mod 2^256

    static constexpr u32 product_bound = 1;  // every residue is below 2q, for every B

    // A known factor w < q in plain form, and floor(2^256 w / q).
    struct Twiddle {
        u256 w, quotient;
    };

    // in: w < q, in Montgomery form   out: the Twiddle of the plain factor
    // The Montgomery form is 2^256 w mod q = 2^256 w - q w', so modulo 2^256 it is -q w'.
    RF_METHOD Twiddle twiddle(Word w) const { return Twiddle{from_montgomery(w), mul_low(w, minus_inverse)}; }

    // in: x < 2q, the Twiddle of a factor w   out: x w mod q, < 2q
    // Here w' is the quotient. x w / q - floor(x w' / 2^256) < 1 + x / 2^256. The partial products of x w' that are
    // left out are below 6 2^-32 of 2^256. So the total error of the quotient is below 2.
    RF_METHOD Word mul(Word x, Twiddle w) const {
        u32 quotient[8];
        high_half(quotient, x.limb, w.quotient.limb);
        u32 even[8] = {0, 0, 0, 0, 0, 0, 0, 0}, odd[7] = {0, 0, 0, 0, 0, 0, 0};
        RF_UNROLL
        for (u32 j = 0; j < 8; j++) add_row(even, odd, x.limb, w.w.limb[j], j);
        RF_UNROLL
        for (u32 j = 0; j < 8; j++) {
            if (kind(j) == 0) add_row(even, odd, quotient, digit[j], j);
        }
        add_limbs<7>(even + 1, even + 1, odd);
        add_digits<0>(even, quotient);
        Word r;
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) r.limb[i] = even[i];
        return r;
    }

    // in: x < 2q   out: x
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        return x;
    }
    // in: x < 2q   out: x mod q, < q
    template <u32 B>
    RF_METHOD Word canonical(Word x) const {
        return sub_q_once(x, 0);
    }
    // in: a, b < 2q   out: a + b mod q, < 2q
    RF_METHOD Word add(Word a, Word b) const {
        Word r, less;
        u32 carry = add_limbs<8>(r.limb, a.limb, b.limb);
        u32 borrow = sub_limbs<8>(less.limb, r.limb, twice);
        select_limbs<8>(r.limb, borrow & (carry - 1), r.limb, less.limb);
        return r;
    }
    // in: a, b < 2q   out: a - b mod q, < 2q
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        Word r, lift;
        u32 mask = sub_limbs<8>(r.limb, a.limb, b.limb);
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) lift.limb[i] = twice[i] & mask;
        add_limbs<8>(r.limb, r.limb, lift.limb);
        return r;
    }
    // in: b < 2q   out: -b mod q, < 2q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return sub<1>(Word{{0, 0, 0, 0, 0, 0, 0, 0}}, b);
    }

    // in: a, b < 2q   out: a b 2^-256 mod q, < q   (a is made canonical, so that the sum before the last subtraction is
    //     below 2q)
    RF_METHOD Wide wide_mul(Word a, Word b) const { return mul_montgomery(canonical<1>(a), b); }
    // in: acc, a, b < 2q   out: acc + a b 2^-256 mod q, < 2q
    RF_METHOD Wide wide_mad(Wide acc, Word a, Word b) const { return add(acc, wide_mul(a, b)); }

  private:
    RF_CONST u32 kind(u32 j) { return Digits >> 2 * j & 3; }

    // out: even + 2^32 odd += 2^(32 j) a b mod 2^256
    RF_METHOD void add_row(u32* even, u32* odd, const u32* a, u32 b, u32 j) const {
        switch (j) {
        case 0: row_mad_low<8>(even, a, b), row_mad_low<7>(odd, a + 1, b); break;
        case 1: row_mad_low<6>(even + 2, a + 1, b), row_mad_low<7>(odd, a, b); break;
        case 2: row_mad_low<6>(even + 2, a, b), row_mad_low<5>(odd + 2, a + 1, b); break;
        case 3: row_mad_low<4>(even + 4, a + 1, b), row_mad_low<5>(odd + 2, a, b); break;
        case 4: row_mad_low<4>(even + 4, a, b), row_mad_low<3>(odd + 4, a + 1, b); break;
        case 5: row_mad_low<2>(even + 6, a + 1, b), row_mad_low<3>(odd + 4, a, b); break;
        case 6: row_mad_low<2>(even + 6, a, b), row_mad_low<1>(odd + 6, a + 1, b); break;
        default: row_mad_low<1>(odd + 6, a, b);
        }
    }
    // out: r += quotient times digits J to 7, where only digits 1 and -1 count
    template <u32 J>
    RF_METHOD void add_digits(u32* r, const u32* quotient) const {
        if constexpr (J < 8) {
            if constexpr (kind(J) == 2) add_limbs<8 - J>(r + J, r + J, quotient);
            if constexpr (kind(J) == 3) sub_limbs<8 - J>(r + J, r + J, quotient);
            add_digits<J + 1>(r, quotient);
        }
    }
    // out: a b mod 2^256
    RF_METHOD Word mul_low(Word a, const u32* b) const {
        u32 even[8] = {0, 0, 0, 0, 0, 0, 0, 0}, odd[7] = {0, 0, 0, 0, 0, 0, 0};
        RF_UNROLL
        for (u32 j = 0; j < 8; j++) add_row(even, odd, a.limb, b[j], j);
        Word r;
        r.limb[0] = even[0];
        add_limbs<7>(r.limb + 1, even + 1, odd);
        return r;
    }
    // out: r = floor(a b / 2^256) or one less, from the partial products of limbs i + j >= 6
    RF_METHOD void high_half(u32* r, const u32* a, const u32* b) const {
        // `even` holds limbs 6 .. 15 of the product, `odd` limbs 7 .. 15. Before a row is added, the topmost two limbs
        // it reaches hold at most a carry, so the row has no carry out.
        u32 even[10] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, odd[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        row_mad_low<2>(even, a + 6, b[0]), row_mad_low<2>(odd, a + 7, b[0]);
        row_mad_low<4>(even, a + 5, b[1]), row_mad<2>(odd, a + 6, b[1], odd[2]);
        row_mad<4>(even, a + 4, b[2], even[4]), row_mad_low<4>(odd, a + 5, b[2]);
        row_mad_low<6>(even, a + 3, b[3]), row_mad<4>(odd, a + 4, b[3], odd[4]);
        row_mad<6>(even, a + 2, b[4], even[6]), row_mad_low<6>(odd, a + 3, b[4]);
        row_mad_low<8>(even, a + 1, b[5]), row_mad<6>(odd, a + 2, b[5], odd[6]);
        row_mad<8>(even, a, b[6], even[8]), row_mad_low<8>(odd, a + 1, b[6]);
        row_mad_low<8>(even + 2, a + 1, b[7]), row_mad<8>(odd, a, b[7], odd[8]);
        u32 sum[9];
        add_limbs<9>(sum, even + 1, odd);
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) r[i] = sum[i + 1];
    }
};

}  // namespace rf
