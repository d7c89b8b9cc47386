// Products of residues and known constant factors, modulo any q.
#pragma once
#include "divisor256.cuh"

namespace rf {

// A modulus below 2^31 with Shoup multiplication in words of 32 bits.
struct Divisor31 {
    u32 q;

    using Residue = u32;
    // A known factor c < q and its Shoup quotient floor(2^32 c / q).
    struct Factor {
        u32 c, quotient;
    };

    // in: any a   out: a c mod q   (the quotient is exact or one less)
    RF_METHOD u32 mul(u32 a, Factor c) const { return sub_once(a * c.c - mul_hi(a, c.quotient) * q, q); }
    // in: a, b < q   out: a + b mod q
    RF_METHOD u32 add(u32 a, u32 b) const { return sub_once(a + b, q); }
    // in: a, b < q   out: a - b mod q
    RF_METHOD u32 sub(u32 a, u32 b) const { return min_word(a - b, a - b + q); }
    // in: a < q   out: -a mod q
    RF_METHOD u32 negate(u32 a) const { return sub_once(q - a, q); }
};

// A modulus below 2^63 with Shoup multiplication, which takes less than half the instructions of Divisor's.
struct Divisor63 {
    u64 q;

    using Residue = u64;
    // A known factor c < q and its Shoup quotient floor(2^64 c / q).
    struct Factor {
        u64 c, quotient;
    };

    // in: any a   out: a c mod q   (the quotient is exact or one less)
    RF_METHOD u64 mul(u64 a, Factor c) const {
        u64 r = a * c.c - mul_hi(a, c.quotient) * q;
        return r - select(r >= q, q, 0ull);
    }
    // in: a, b < q   out: a + b mod q
    RF_METHOD u64 add(u64 a, u64 b) const { return add_mod(a, b, q); }
    // in: a, b < q   out: a - b mod q
    RF_METHOD u64 sub(u64 a, u64 b) const { return sub_mod(a, b, q); }
    // in: a < q   out: -a mod q
    RF_METHOD u64 negate(u64 a) const { return sub_mod(0, a, q); }
};

// Reads a modulus of type Q and known factors from a table: a modulus takes `words` 64-bit words, a factor
// `factor_words`.
template <class Q>
struct Known;

template <>
struct Known<Divisor31> {
    static constexpr u32 words = 1, factor_words = 1;

    RF_FN Divisor31 modulo(const u64* at) { return {low(at[0])}; }
    RF_FN Divisor31::Factor factor(const u64* at) { return {low(at[0]), high(at[0])}; }
};

template <>
struct Known<Divisor63> {
    static constexpr u32 words = 1, factor_words = 2;

    RF_FN Divisor63 modulo(const u64* at) { return {at[0]}; }
    RF_FN Divisor63::Factor factor(const u64* at) { return {at[0], at[1]}; }
};

template <>
struct Known<Divisor> {
    static constexpr u32 words = 3, factor_words = 1;

    RF_FN Divisor modulo(const u64* at) { return Divisor{at[0], at[1], (u32)at[2]}; }
    RF_FN u64 factor(const u64* at) { return at[0]; }
};

template <u32 Bits>
struct Known<Divisor256<Bits>> {
    static constexpr u32 words = 5, factor_words = 20;

    RF_FN Divisor256<Bits> modulo(const u64* at) {
        Divisor256<Bits> q;
        limbs(q.q, at);
        q.ratio = at[4];
        return q;
    }
    RF_FN typename Divisor256<Bits>::Factor factor(const u64* at) {
        typename Divisor256<Bits>::Factor c;
        RF_UNROLL
        for (u32 i = 0; i < 5; i++) limbs(c.part[i].limb, at + 4 * i);
        return c;
    }

  private:
    RF_FN void limbs(u32* to, const u64* at) {
        RF_UNROLL
        for (u32 i = 0; i < 4; i++) to[2 * i] = low(at[i]), to[2 * i + 1] = high(at[i]);
    }
};

// Multiplies the residues of a limb by known factors, in stages. The generated struct L gives the type of modulus L::Q,
// whether inputs need to be reduced (L::reduces), and whether stage i of L::stages has a factor (L::factor(i)). The
// table has for each limb the modulus, the factor 1 if L::reduces, and the factors of the stages.
template <class L>
struct Multiples {
    using Q = typename L::Q;
    using Residue = typename Q::Residue;
    using K = Known<Q>;

    Q q;
    const u64* factors;

    RF_METHOD Multiples(const u64* table, u32 row) {
        const u64* known = table + row * (K::words + place(L::stages) * K::factor_words);
        q = K::modulo(known);
        factors = known + K::words;
    }
    // in: an input word, any word if L::reduces   out: x mod q
    RF_METHOD Residue reduced(Residue x) const {
        if constexpr (L::reduces) return q.mul(x, K::factor(factors));
        else return x;
    }
    // Multiplies residues by the factor of stage I.
    template <u32 I, u32 Count>
    RF_METHOD void times(Residue* x) const {
        if constexpr (L::factor(I)) {
            auto c = K::factor(factors + place(I) * K::factor_words);
            RF_UNROLL
            for (u32 v = 0; v < Count; v++) x[v] = q.mul(x[v], c);
        }
    }

  private:
    RF_CONST u32 place(u32 stage) {
        u32 count = L::reduces;
        for (u32 i = 0; i < stage; i++) count += L::factor(i);
        return count;
    }
};

}  // namespace rf
