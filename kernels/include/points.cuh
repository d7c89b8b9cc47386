// Points of short Weierstrass curves y^2 = x^3 + a x + b over a field, for any a and for any points, with all exceptional
// cases of an addition: affine points for sums that share an inversion, and XYZZ coordinates (X, Y, ZZ, ZZZ).
//
// A curve C has a field C::F, the flag C::a_is_zero and the coefficient C::a() in Montgomery form.
#pragma once
#include "extension.cuh"

namespace rf {

// An affine point. Infinity has all bits of x set, which no residue has; its y is ignored.
template <class Word>
struct Point {
    Word x, y;
};

template <u32 N>
RF_FN u32 all_ones(const Limbs<N>& x) {
    u32 all = ~0u;
    RF_UNROLL
    for (u32 i = 0; i < N; i++) all &= x.limb[i];
    return all == ~0u;
}
template <class Word>
RF_FN u32 all_ones(const Pair<Word>& x) {
    return all_ones(x.c0);
}
template <u32 N>
RF_FN void set_all(Limbs<N>& x) {
    RF_UNROLL
    for (u32 i = 0; i < N; i++) x.limb[i] = ~0u;
}
template <class Word>
RF_FN void set_all(Pair<Word>& x) {
    set_all(x.c0), set_all(x.c1);
}

template <class Word>
RF_FN Point<Word> infinity() {
    Point<Word> p;
    set_all(p.x), set_all(p.y);
    return p;
}

// How to add p and q, by their x coordinates and, if these are equal, by y.
enum class Case : u32 { chord, tangent, first, second, infinite };

// in: p, q, of which y is read only if both x are equal   out: the case of p + q
template <class Word, class First, class Second>
RF_FN Case case_of(const Word& x1, const Word& x2, First y1, Second y2) {
    if (is_equal(x1, x2)) {
        if (all_ones(x1)) return Case::first;
        const Word y = y1();
        return is_equal(y, y2()) & !is_zero(y) ? Case::tangent : Case::infinite;
    }
    return all_ones(x1) ? Case::second : all_ones(x2) ? Case::first : Case::chord;
}

// out: the number whose inverse add_affine needs: x2 - x1, 2 y1 for a tangent, else 1; never 0
template <class F, class First>
RF_FN typename F::Word denominator(Case which, const typename F::Word& x1, const typename F::Word& x2, First y1) {
    typename F::Word d = F::sub(x2, x1);
    if (which != Case::chord) {
        d = F::one();
        if (which == Case::tangent) {
            const typename F::Word y = y1();
            d = F::add(y, y);
        }
    }
    return d;
}

// The points are given by functions that load their coordinates: (x1, y1) and (x2, y2).
// in: inverse = 1 / denominator(...)   out: the sum   (3 products, one of them a square)
template <class C, class Points>
RF_FN Point<typename C::F::Word> add_affine(Case which, const Points& of, const typename C::F::Word& inverse) {
    using F = typename C::F;
    typename F::Word rise = F::sub(of.y2(), of.y1());
    if (which == Case::tangent) {
        const typename F::Word square = F::square(of.x1());
        rise = F::add(F::add(square, square), square);
        if constexpr (!C::a_is_zero) rise = F::add(rise, C::a());
    }
    const typename F::Word slope = F::mul(rise, inverse);
    Point<typename F::Word> r;
    r.x = F::sub(F::sub(F::square(slope), of.x1()), of.x2());
    r.y = F::sub(F::mul(slope, F::sub(of.x1(), r.x)), of.y1());
    if (which == Case::first) r = {of.x1(), of.y1()};
    if (which == Case::second) r = {of.x2(), of.y2()};
    if (which == Case::infinite) r = infinity<typename F::Word>();
    return r;
}

// The point (X / ZZ, Y / ZZZ) with ZZ^3 = ZZZ^2, or infinity if ZZ = 0.
// Source: EFD, "XYZZ coordinates for short Weierstrass curves".
template <class Word>
struct Xyzz {
    Word x, y, zz, zzz;
};

template <class F>
RF_FN Xyzz<typename F::Word> xyzz_infinity() {
    return {F::zero(), F::zero(), F::zero(), F::zero()};
}

template <class F>
RF_FN Xyzz<typename F::Word> to_xyzz(const Point<typename F::Word>& p) {
    if (all_ones(p.x)) return xyzz_infinity<F>();
    return {p.x, p.y, F::one(), F::one()};
}

// out: 2 p   (a point of order 2 has Y = 0, and its double ZZ = 0)
template <class C>
RF_FN Xyzz<typename C::F::Word> double_xyzz(const Xyzz<typename C::F::Word>& p) {
    using F = typename C::F;
    using Word = typename F::Word;
    const Word u = F::add(p.y, p.y), v = F::square(u), w = F::mul(u, v), s = F::mul(p.x, v), square = F::square(p.x);
    Word m = F::add(F::add(square, square), square);
    if constexpr (!C::a_is_zero) m = F::add(m, F::mul(C::a(), F::square(p.zz)));
    Xyzz<Word> r;
    r.x = F::sub(F::sub(F::square(m), s), s);
    r.y = F::sub(F::mul(m, F::sub(s, r.x)), F::mul(w, p.y));
    r.zz = F::mul(v, p.zz);
    r.zzz = F::mul(w, p.zzz);
    return r;
}

// The end of an addition p + q, as soon as both points have the same ZZ and ZZZ.
// in: p; at, the same point with the common ZZ and ZZZ; q's X and Y minus those of at   out: p + q
template <class C>
RF_FN Xyzz<typename C::F::Word> add_over(const Xyzz<typename C::F::Word>& p, const Xyzz<typename C::F::Word>& at,
                                         const typename C::F::Word& dx, const typename C::F::Word& dy) {
    using F = typename C::F;
    using Word = typename F::Word;
    if (is_zero(dx)) return is_zero(dy) ? double_xyzz<C>(p) : xyzz_infinity<F>();
    const Word pp = F::square(dx), ppp = F::mul(dx, pp), v = F::mul(at.x, pp);
    Xyzz<Word> r;
    r.x = F::sub(F::sub(F::sub(F::square(dy), ppp), v), v);
    r.y = F::sub(F::mul(dy, F::sub(v, r.x)), F::mul(at.y, ppp));
    r.zz = F::mul(at.zz, pp);
    r.zzz = F::mul(at.zzz, ppp);
    return r;
}

// out: p + q for any p and q   (14 products)
template <class C>
RF_FN Xyzz<typename C::F::Word> add_xyzz(const Xyzz<typename C::F::Word>& p, const Xyzz<typename C::F::Word>& q) {
    using F = typename C::F;
    if (is_zero(p.zz)) return q;
    if (is_zero(q.zz)) return p;
    const Xyzz<typename F::Word> at = {F::mul(p.x, q.zz), F::mul(p.y, q.zzz), F::mul(p.zz, q.zz), F::mul(p.zzz, q.zzz)};
    return add_over<C>(p, at, F::sub(F::mul(q.x, p.zz), at.x), F::sub(F::mul(q.y, p.zzz), at.y));
}

// out: p + q for any p and any affine q   (10 products)
template <class C>
RF_FN Xyzz<typename C::F::Word> add_mixed(const Xyzz<typename C::F::Word>& p, const Point<typename C::F::Word>& q) {
    using F = typename C::F;
    if (all_ones(q.x)) return p;
    if (is_zero(p.zz)) return to_xyzz<F>(q);
    return add_over<C>(p, p, F::sub(F::mul(q.x, p.zz), p.x), F::sub(F::mul(q.y, p.zzz), p.y));
}

}  // namespace rf
