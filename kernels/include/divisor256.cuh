// Arithmetic modulo any q of up to 256 bits, including even and composite q: sums of small multiples of residues, by
// Barrett reduction.
#pragma once
#include "crt.cuh"
#include "mod256.cuh"

namespace rf {

// out: bits `bit` to `bit` + 63 of x, which has N limbs; bits above these limbs are zero
template <u32 N>
RF_FN u64 bits_from(const u32* x, u32 bit) {
    u32 at = bit / 32, by = bit % 32;
    u64 low = join(at < N ? x[at] : 0, at + 1 < N ? x[at + 1] : 0), above = at + 2 < N ? x[at + 2] : 0;
    return low >> by | above << 1 << (63 - by);
}

// in: x of ten limbs, a of eight; x + digit a < 2^320, digit < 2^62   out: x += digit a
RF_FN void add_multiple(u32* x, u64 digit, const u32* a) {
    u32 none = 0;
    row_mad<8>(x, a, low(digit), x[8]);
    row_mad<8>(x + 1, a + 1, low(digit), x[9]);
    row_mad<8>(x + 1, a, high(digit), x[9]);
    row_mad<8>(x + 2, a + 1, high(digit), none);
}

// Arithmetic modulo q of exactly Bits bits, 2 <= Bits <= 256.
template <u32 Bits>
struct Divisor256 {
    u32 q[8];
    u64 ratio;  // floor(2^(63 + Bits) / q), at most 2^64 - 1

    using Residue = u256;
    // A known factor c: part[i] is c 2^(52 i) mod q.
    struct Factor {
        u256 part[5];
    };

    // in: acc, a < q, digit < 2^62   out: (acc + digit a) mod q
    RF_METHOD u256 mad(u256 acc, u64 digit, u256 a) const {
        u32 x[10] = {}, multiple[10] = {};
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) x[i] = acc.limb[i];
        add_multiple(x, digit, a.limb);
        // x < 2^62 q: the quotient is exact or one too small
        u64 quotient = mul_hi(bits_from<10>(x, Bits - 2), ratio) >> 1;
        add_multiple(multiple, quotient, q);
        sub_limbs<9>(x, x, multiple);
        return sub_q_once(x, x[8]);
    }
    // in: a, b < q   out: a + b mod q
    RF_METHOD u256 add(u256 a, u256 b) const {
        u32 sum[8];
        u32 carry = add_limbs<8>(sum, a.limb, b.limb);
        return sub_q_once(sum, carry);
    }
    // in: a, b < q   out: a - b mod q
    RF_METHOD u256 sub(u256 a, u256 b) const {
        u32 zero[8] = {}, lift[8];
        u256 r;
        u32 borrow = sub_limbs<8>(r.limb, a.limb, b.limb);
        select_limbs<8>(lift, borrow, q, zero);
        add_limbs<8>(r.limb, r.limb, lift);
        return r;
    }
    // in: a < q   out: -a mod q
    RF_METHOD u256 negate(u256 a) const { return sub(u256{}, a); }
    // in: any a   out: a c mod q   (a is cut into five digits of 52 bits)
    RF_METHOD u256 mul(u256 a, const Factor& c) const {
        u256 sum{};
        RF_UNROLL
        for (u32 i = 0; i < 5; i++) sum = mad(sum, bits_from<8>(a.limb, 52 * i) & ((1ull << 52) - 1), c.part[i]);
        return sum;
    }

  private:
    // in: x + 2^256 carry < 2q   out: (x + 2^256 carry) mod q
    RF_METHOD u256 sub_q_once(const u32* x, u32 carry) const {
        u256 r;
        u32 borrow = sub_limbs<8>(r.limb, x, q);
        select_limbs<8>(r.limb, borrow & (carry - 1), x, r.limb);
        return r;
    }
};

// Accumulator for `rebuild`: a sum modulo q of digits below 2^62 times weights.
template <u32 Bits>
struct Sum256 {
    u256 sum;
    Divisor256<Bits> q;

    RF_METHOD void add(u64 digit, u256 weight) { sum = q.mad(sum, digit, weight); }
    RF_METHOD u256 rest() const { return sum; }
};

// out: 1 if a > b, else 0
RF_FN u32 is_above(const u256& a, const u256& b) {
    u32 difference[8];
    return sub_limbs<8>(difference, b.limb, a.limb) != 0;
}

// out: x mod p
RF_FN u64 remainder(const u256& x, Divisor p) {
    u64 r = 0;
    RF_UNROLL
    for (u32 i = 8; i > 0; i -= 2) r = p.rem(u128{join(x.limb[i - 2], x.limb[i - 1]), r});
    return r;
}

}  // namespace rf
