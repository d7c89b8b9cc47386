// CRT reconstruction by Garner's algorithm, and remainders (Barrett, Moeller-Granlund) modulo any q of up to 64 bits,
// including even and composite q.
#pragma once
#include "shoup32.cuh"

namespace rf {

// in: a, b < q   out: a + b mod q, < q
RF_FN u64 add_mod(u64 a, u64 b, u64 q) { return a - (q - b) + select(a < q - b, q, 0ull); }
// in: a, b < q   out: a - b mod q, < q; for any other a, a 64-bit word congruent to a - b modulo q
RF_FN u64 sub_mod(u64 a, u64 b, u64 q) { return a - b + select(a < b, q, 0ull); }

// Remainders of 64-bit integers modulo q <= 2^63, by Barrett reduction.
struct Barrett {
    u64 q;
    u64 ratio;  // floor(2^64 / q)

    // in: any x   out: x mod q   (the quotient is exact or one less)
    RF_METHOD u64 rem(u64 x) const { return sub_once(mad_lo(mul_hi(x, ratio), 0ull - q, x), q); }
};

// Remainders of 128-bit integers modulo any q >= 2, with a precomputed reciprocal.
// Source: Moeller, Granlund, "Improved division by invariant integers", algorithm 4.
struct Divisor {
    u64 d;           // 2^shift q, its top bit set
    u64 reciprocal;  // floor((2^128 - 1) / d) - 2^64
    u32 shift;

    using Residue = u64;
    using Factor = u64;

    // in: x < 2^64 q   out: x mod q
    RF_METHOD u64 rem(u128 x) const {
        u64 hi = x.hi << shift | (x.lo >> 1) >> (63 - shift);
        u64 lo = x.lo << shift;
        u128 quotient = mad_wide(reciprocal, hi, u128{lo, hi});
        u64 r = lo - (quotient.hi + 1) * d;
        r += select(r > quotient.lo, d, 0ull);
        r -= select(r >= d, d, 0ull);
        return r >> shift;
    }
    // in: any a; b < q   out: a b mod q
    RF_METHOD u64 mul(u64 a, u64 b) const { return rem(mul_wide(a, b)); }
    // in: a, b < q   out: a + b mod q
    RF_METHOD u64 add(u64 a, u64 b) const { return add_mod(a, b, modulus()); }
    // in: a, b < q   out: a - b mod q
    RF_METHOD u64 sub(u64 a, u64 b) const { return sub_mod(a, b, modulus()); }
    // in: a < q   out: -a mod q
    RF_METHOD u64 negate(u64 a) const { return sub_mod(0, a, modulus()); }
    RF_METHOD u64 modulus() const { return d >> shift; }
};

// in: `count` <= 64 digits, any words, digit i at digits[i * stride]; their weights, < q. If Narrow, the digits' sum
//     must be at most 2^64.
// out: the sum of digits times weights, mod q
template <bool Narrow>
RF_FN u64 weighted_sum(const u64* digits, u32 stride, const u64* weights, u32 count, Divisor q) {
    u128 sum{0, 0};
    u64 above = 0;
    for (u32 i = 0; i < count; i++) {
        u64 digit = digits[i * stride];
        if constexpr (Narrow) {
            sum = mad_wide(digit, weights[i], sum);  // < 2^64 q
        } else {
            u128 p = mad_wide(digit, weights[i], u128{sum.lo, 0});
            sum = u128{p.lo, sum.hi + p.hi};
            above += sum.hi < p.hi;
        }
    }
    if constexpr (Narrow) return q.rem(sum);
    // the integer sum.hi + 2^64 above is below 64 q, so the inner remainder is valid
    return q.rem(u128{sum.lo, q.rem(u128{sum.hi, above})});
}

// out: 1 if a > b, else 0
RF_FN u32 is_above(u64 a, u64 b) { return a > b; }
// out: x mod p
RF_FN u64 remainder(u64 x, Barrett p) { return p.rem(x); }

// Accumulators of digits times weights, for `rebuild`. Bounds of the sum: 2^32 in WordSum, which needs q < 2^31; 2^64
// in NarrowSum; 2^64 q in WideSum.
struct WordSum {
    u32 sum;
    u32 q;
    u32 ratio;  // floor(2^32 / q)

    RF_METHOD void add(u64 digit, u64 weight) { sum += (u32)digit * (u32)weight; }
    RF_METHOD u64 rest() const { return sub_once(barrett(sum, q, ratio), q); }
};
struct NarrowSum {
    u64 sum;
    Barrett q;

    RF_METHOD void add(u64 digit, u64 weight) { sum += digit * weight; }
    RF_METHOD u64 rest() const { return q.rem(sum); }
};
struct WideSum {
    u128 sum;
    Divisor q;

    RF_METHOD void add(u64 digit, u64 weight) { sum = mad_wide(digit, weight, sum); }
    RF_METHOD u64 rest() const { return q.rem(sum); }
};

// Garner's algorithm (mixed-radix CRT), for the primes p_0 < p_1 < ... of a generated struct L. P is the product of
// these L::primes primes.
// in: residue(j): x modulo p_j, for an integer x with |x| <= H = floor(P / 2).
// out: s x mod q, for the modulus q of the result and a constant s that the engine chooses.
// x + H is in [0, P) and has the mixed-radix digits x + H = d_0 + d_1 p_0 + d_2 p_0 p_1 + ... L::weight(j) is s p_0 ...
// p_(j-1) mod q; L::inverse(i, j) is p_i^-1 modulo p_j; L::offset(j) is H mod p_j. L::sum() returns an accumulator that
// starts with -s H mod q.
template <class L, class Residues>
RF_FN typename L::Residue rebuild(Residues residue) {
    typename L::Word digit[L::primes];
    auto sum = L::sum();
    RF_UNROLL
    for (u32 j = 0; j < L::primes; j++) {
        auto p = L::prime(j);
        auto x = sub_once(residue(j) + L::offset(j), p.q);
        RF_UNROLL
        for (u32 i = 0; i < j; i++) x = p.mul(x + (p.q - digit[i]), L::inverse(i, j));
        digit[j] = j == 0 ? x : p.template canonical<2>(x);
        sum.add(digit[j], L::weight(j));
    }
    return sum.rest();
}

}  // namespace rf
