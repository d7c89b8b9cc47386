// Inverses modulo a prime of N 32-bit limbs by division steps. Their time depends on the number, which must be public or
// need no protection.
//
// Source: Bernstein and Yang, "Fast constant-time gcd computation and modular inversion" (eprint 2019/266), with the
// starting value delta = 1/2 (Wuille, safegcd-bounds). 30 steps at a time are computed on the lowest words of f and g.
// They make a 2 x 2 matrix of integers of at most 2^30, which is then applied to f, g (integers) and to d, e (residues).
#pragma once
#include "field.cuh"

namespace rf {

// An integer of M signed limbs of 30 bits, the upper limb with the sign.
template <u32 M>
struct Signed30 {
    i32 limb[M];
};

constexpr u32 mask30 = (1u << 30) - 1;

// The matrix of 30 division steps, times 2^30.
struct DivstepMatrix {
    i32 u, v, q, r;
};

// in: zeta = -(delta + 1/2), and the lowest words of f (odd) and g
// out: the matrix of 30 steps; zeta is updated
//
// delta > 0 means zeta < 0. A step with an odd g and delta > 0 exchanges: f = g, g = (g - f) / 2, delta = 1 - delta. Other
// steps make g = (g + f) / 2 or g / 2, and delta = delta + 1. So zeta + 1 steps follow without an exchange: they add the
// multiple of f that clears the lowest bits of g, of which up to six are cleared at a time.
RF_FN DivstepMatrix divsteps_30(i32& zeta, u32 f, u32 g) {
    u32 u = 1, v = 0, q = 0, r = 1, left = 30;
    RF_LOOP
    while (true) {
        const u32 zeros = (u32)__ffs((int)(g | 1u << left)) - 1;
        g >>= zeros, u <<= zeros, v <<= zeros;
        zeta -= (i32)zeros, left -= zeros;
        if (left == 0) break;
        if (zeta < 0) {
            const u32 old_f = f, old_u = u, old_v = v;
            zeta = -zeta - 1;
            f = g, u = q, v = r;
            g = 0 - old_f, q = 0 - old_u, r = 0 - old_v;
        }
        const u32 steps = min_word(min_word((u32)zeta + 1, left), 6);
        const u32 times = g * f * (f * f - 2) & ((1u << steps) - 1);  // f (2 - f^2) = 1 / f modulo 64
        g += times * f, q += times * u, r += times * v;
    }
    return {(i32)u, (i32)v, (i32)q, (i32)r};
}

// out: (f, g) = (u f + v g, q f + r g) / 2^30, which is exact
template <u32 M>
RF_FN void apply_divsteps(const DivstepMatrix& t, Signed30<M>& f, Signed30<M>& g) {
    i64 cf = 0, cg = 0;
    RF_UNROLL
    for (u32 i = 0; i < M; i++) {
        const i32 fi = f.limb[i], gi = g.limb[i];
        cf += (i64)t.u * fi + (i64)t.v * gi;
        cg += (i64)t.q * fi + (i64)t.r * gi;
        if (i > 0) f.limb[i - 1] = (i32)((u32)cf & mask30), g.limb[i - 1] = (i32)((u32)cg & mask30);
        cf >>= 30, cg >>= 30;
    }
    f.limb[M - 1] = (i32)cf, g.limb[M - 1] = (i32)cg;
}

// in: -2 m < d, e < m   out: (d, e) = (u d + v e, q d + r e) / 2^30 mod m, -2 m < d, e < m
//
// First, m is added to negative d and e. Then a multiple of m makes the lowest limb zero.
template <u32 M>
RF_FN void apply_divsteps_mod(const DivstepMatrix& t, Signed30<M>& d, Signed30<M>& e, const Signed30<M>& m, u32 inverse) {
    const i32 sd = d.limb[M - 1] >> 31, se = e.limb[M - 1] >> 31;
    i32 md = (t.u & sd) + (t.v & se), me = (t.q & sd) + (t.r & se);
    i64 cd = (i64)t.u * d.limb[0] + (i64)t.v * e.limb[0], ce = (i64)t.q * d.limb[0] + (i64)t.r * e.limb[0];
    md -= (i32)((inverse * (u32)cd + (u32)md) & mask30);
    me -= (i32)((inverse * (u32)ce + (u32)me) & mask30);
    cd += (i64)m.limb[0] * md, ce += (i64)m.limb[0] * me;
    cd >>= 30, ce >>= 30;
    RF_UNROLL
    for (u32 i = 1; i < M; i++) {
        const i32 di = d.limb[i], ei = e.limb[i];
        cd += (i64)t.u * di + (i64)t.v * ei + (i64)m.limb[i] * md;
        ce += (i64)t.q * di + (i64)t.r * ei + (i64)m.limb[i] * me;
        d.limb[i - 1] = (i32)((u32)cd & mask30), e.limb[i - 1] = (i32)((u32)ce & mask30);
        cd >>= 30, ce >>= 30;
    }
    d.limb[M - 1] = (i32)cd, e.limb[M - 1] = (i32)ce;
}

// out: x in limbs of 30 bits
template <u32 N, u32 M>
RF_FN Signed30<M> to_signed30(const Limbs<N>& x) {
    Signed30<M> r;
    RF_UNROLL
    for (u32 i = 0; i < M; i++) {
        const u32 bit = 30 * i, word = bit / 32;
        const u64 pair = join(word < N ? x.limb[word < N ? word : 0] : 0, word + 1 < N ? x.limb[word + 1 < N ? word + 1 : 0] : 0);
        r.limb[i] = (i32)(low(pair >> bit % 32) & mask30);
    }
    return r;
}

// in: 0 <= x < 2^(32 N), limbs below 2^30   out: x
template <u32 N, u32 M>
RF_FN Limbs<N> from_signed30(const Signed30<M>& x) {
    Limbs<N> r;
    RF_UNROLL
    for (u32 i = 0; i < N; i++) {
        const u32 bit = 32 * i, limb = bit / 30, shift = bit % 30;
        r.limb[i] = (u32)x.limb[limb] >> shift | (u32)x.limb[limb + 1] << (30 - shift);  // shift is even, at most 28
    }
    return r;
}

// out: x + m if c is all ones, x if c is 0; then -x if flip is all ones. Carries are propagated.
template <u32 M>
RF_FN void add_and_flip(Signed30<M>& x, const Signed30<M>& m, i32 c, i32 flip) {
    i32 carry = 0;
    RF_UNROLL
    for (u32 i = 0; i < M; i++) {
        const i32 sum = (((x.limb[i] + (m.limb[i] & c)) ^ flip) - flip) + carry;
        x.limb[i] = i + 1 < M ? (i32)((u32)sum & mask30) : sum;
        carry = sum >> 30;
    }
}

// F is a `Field<Q>`.   in: a < q   out: 1 / a in Montgomery form, < q; 0 if a is 0
template <class F>
RF_CALL typename F::Word inverse_by_divsteps(typename F::Word a) {
    constexpr u32 N = F::limbs, M = (32 * N + 31) / 30;
    Signed30<M> f = to_signed30<N, M>(F::modulus()), g = to_signed30<N, M>(a), d = {}, m = f;
    // a holds x 2^(32 N), so that starting at 2^(64 N) instead of 1 gives the inverse in Montgomery form
    Signed30<M> e = to_signed30<N, M>(F::r2());
    i32 zeta = -1;
    RF_LOOP
    while (true) {
        i32 any = 0;
        RF_UNROLL
        for (u32 i = 0; i < M; i++) any |= g.limb[i];
        if (any == 0) break;
        const u32 f_low = (u32)f.limb[0] | (u32)f.limb[1] << 30, g_low = (u32)g.limb[0] | (u32)g.limb[1] << 30;
        const DivstepMatrix t = divsteps_30(zeta, f_low, g_low);
        apply_divsteps_mod(t, d, e, m, F::inverse_30());
        apply_divsteps(t, f, g);
    }
    // f is now 1 or -1 (q if a is 0), and d = f / a is between -2 q and q
    add_and_flip(d, m, d.limb[M - 1] >> 31, f.limb[M - 1] >> 31);
    add_and_flip(d, m, d.limb[M - 1] >> 31, 0);
    return from_signed30<N, M>(d);
}

}  // namespace rf
