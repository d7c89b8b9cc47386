// Points of curves y^2 = x^3 - 3x + b over a field F of `field.cuh`, in Jacobian coordinates, and scalars as windows
// of signed odd digits.
//
// Recoding of an odd k < 2^L: k is the sum of s_j 2^j over j < L. The sign s_j is + if bit j + 1 of k is set, else -;
// bit L counts as set. A window of w signs is an odd digit d, |d| < 2^w, and so never 0. Row i of a precomputed table
// of a point P has the points |d| 2^(w i) P for all |d|.
#pragma once
#include "field.cuh"

namespace rf {

// A point (x, y) other than infinity, in affine coordinates; 64 contiguous bytes.
struct Affine {
    u256 x, y;
};

// The point (X / Z^2, Y / Z^3), or infinity if Z = 0, in Jacobian coordinates.
struct Jacobian {
    u256 x, y, z;
};

template <class F>
RF_FN Jacobian from_affine(const Affine& p) {
    return {p.x, p.y, F::one()};
}

// out: (x, -y) if c is not 0, else p = (x, y)
template <class F>
RF_FN Affine negate_if(u32 c, const Affine& p) {
    return {p.x, select(c, F::sub(F::zero(), p.y), p.y)};
}

// out: 2 p, or infinity for infinity   (4 products, 4 squares)
// The result's Z is Y Z instead of the usual 2 Y Z. This turns the usual factors of two into one half: slope = 3 (X -
// Z^2)(X + Z^2) / 2.
template <class F>
RF_FN Jacobian double_point(const Jacobian& p) {
    u256 delta = F::square(p.z), gamma = F::square(p.y);
    Jacobian r;
    r.z = F::mul(p.y, p.z);
    u256 beta = F::mul(p.x, gamma);
    u256 slope = F::mul(F::sub(p.x, delta), F::add(p.x, delta));
    slope = F::add(slope, F::half(slope));
    r.x = F::sub(F::sub(F::square(slope), beta), beta);
    r.y = F::mul_sub_square(slope, F::sub(beta, r.x), gamma);
    return r;
}

// The differences of the coordinates of an affine point q and a Jacobian point p = (X, Y, Z), scaled by powers of Z:
// (q.x Z^2 - X, q.y Z^3 - Y). Both are zero exactly if p = q, or if p is infinity with X = Y = 0.
struct Difference {
    u256 x, y;

    RF_METHOD u32 is_none() const { return is_zero(x) & is_zero(y); }
};

template <class F>
RF_FN Difference difference(const Jacobian& p, const Affine& q) {
    u256 zz = F::square(p.z);
    return {F::sub(F::mul(q.x, zz), p.x), F::sub(F::mul(F::mul(q.y, zz), p.z), p.y)};
}

// in: p and d = difference(p, q)   out: p + q; infinity (Z = 0) if p = -q; a wrong point with Z = 0 if p = q or p is
//     infinity
template <class F>
RF_FN Jacobian add_difference(const Jacobian& p, const Difference& d) {
    Jacobian r;
    r.z = F::mul(p.z, d.x);
    u256 hh = F::square(d.x);
    u256 v = F::mul(p.x, hh);
    u256 hhh = F::mul(hh, d.x);
    r.x = F::sub(F::sub(F::sub(F::square(d.y), hhh), v), v);
    r.y = F::mul_sub(d.y, F::sub(v, r.x), p.y, hhh);
    return r;
}

// Mixed addition.   out: p + q; a wrong point with Z = 0 if p = q or p is infinity   (8 products, 3 squares)
template <class F>
RF_FN Jacobian add_different(const Jacobian& p, const Affine& q) {
    return add_difference<F>(p, difference<F>(p, q));
}

// out: p + q for any p and q. It branches on the exceptional cases, so use it for public points only.
template <class F>
RF_FN Jacobian add_public(const Jacobian& p, const Affine& q) {
    if (is_zero(p.z)) return from_affine<F>(q);
    Difference d = difference<F>(p, q);
    if (d.is_none()) return double_point<F>(p);
    return add_difference<F>(p, d);
}

// out: p + q for p and q other than infinity, without a branch (a mask selects the doubling if p = q)
template <class F>
RF_FN Jacobian add_masked(const Jacobian& p, const Affine& q) {
    Difference d = difference<F>(p, q);
    Jacobian r = add_difference<F>(p, d), twice = double_point<F>(p);
    u32 same = d.is_none();
    return {select(same, twice.x, r.x), select(same, twice.y, r.y), select(same, twice.z, r.z)};
}

// ---- digits ----

// A scalar 0 < k < n made odd: k, or n - k if k is even (then `opposite` is 1). The two words above its 256 bits are
// zero, so that windows may extend beyond them.
struct OddScalar {
    u32 word[10];
    u32 opposite;
};

// in: 0 < k < n, n odd   out: whichever of k and n - k is odd
RF_FN OddScalar odd_scalar(const u256& k, const u256& n) {
    OddScalar r;
    r.opposite = ~k.limb[0] & 1;
    sub_limbs<8>(r.word, n.limb, k.limb);
    select_limbs<8>(r.word, r.opposite, r.word, k.limb);
    r.word[8] = r.word[9] = 0;
    return r;
}

// A signed digit as a table look-up. `place` is the index of the point in its table row; `opposite` is 1 if the point
// must be negated.
struct Digit {
    u32 place, opposite;
};

// in: row < rows, the number of windows; width <= 16, the bits of a window   out: the digit of window `row`
RF_FN Digit digit_of(const OddScalar& k, u32 row, u32 rows, u32 width) {
    u32 from = row * width + 1;
    u64 pair = join(k.word[from / 32], k.word[from / 32 + 1]);
    u32 bits = low(pair >> from % 32) & ((1u << width) - 1);
    bits |= (u32)(row == rows - 1) << (width - 1);
    u32 positive = bits >> (width - 1);
    return {(bits ^ (positive - 1)) & ((1u << (width - 1)) - 1), positive ^ 1 ^ k.opposite};
}

// out: row[place]. The access reveals `place`, which must be public or need no protection.
RF_FN Affine look_up(const Affine* row, u32 place) { return row[place]; }

// out: row[place] for a secret `place`; all `count` points are read
RF_FN Affine scan(const Affine* row, u32 place, u32 count) {
    Affine found = row[0];
    RF_LOOP
    for (u32 i = 1; i < count; i++) {
        Affine next = row[i];
        u32 here = i == place;
        found = {select(here, next.x, found.x), select(here, next.y, found.y)};
    }
    return found;
}

// Fixed-base multiplication.
// in: a table of a point G of odd order n, with W::rows rows for windows of W::width bits; 0 < k < n   out: k G
//
// Rows are added from the lowest, so that only the last addition can meet equal points. Before row i, the sum is m G
// with odd |m| < 2^(w i), where w = W::width; the row's term is +-d 2^(w i) G with odd d. The scalars m and +-d 2^(w i)
// differ, because one is odd and the other even. They also differ modulo n if |m| + d 2^(w i) < n, which fails in the
// last row only, for a single k (w = 16: k = 2 * 0xffff * 2^240 - n). If Complete, a mask selects the doubling in this
// case; otherwise the result has Z = 0. Sums are never infinity, since each is m G with 0 < |m| < n.
template <class F, class W, bool Scan, bool Complete>
RF_FN Jacobian multiply_base(const Affine* table, const u256& k, const u256& n) {
    constexpr u32 count = 1u << (W::width - 1);
    OddScalar odd = odd_scalar(k, n);
    auto term = [&](u32 row) {
        Digit digit = digit_of(odd, row, W::rows, W::width);
        Affine point;
        if constexpr (Scan) point = scan(table + row * count, digit.place, count);
        else point = look_up(table + row * count, digit.place);
        return negate_if<F>(digit.opposite, point);
    };
    Jacobian sum = from_affine<F>(term(0));
    RF_LOOP
    for (u32 row = 1; row < W::rows - Complete; row++) sum = add_different<F>(sum, term(row));
    if constexpr (Complete) sum = add_masked<F>(sum, term(W::rows - 1));
    return sum;
}

// Calls put(i, X, Y, ratio) for each of the `count` points (2 (start + i) + 1) q, and returns the last point's Z. X and
// Y are Jacobian coordinates. `ratio` is the point's Z over that of the previous point, and 1 for the first point.
//
// Each step adds 2 q by co-Z addition (Meloni): both points have the same Z, so the addition does not need it. A step
// takes 5 products, one of them for Z, and 2 squares. Its intermediate results also give 2 q with the new Z.
template <class F, class Put>
RF_FN u256 odd_multiples(const Affine& q, u32 start, u32 count, Put put) {
    Jacobian p = from_affine<F>(q), twice = double_point<F>(p);
    const u32 factor = 2 * start + 1;
    if (factor > 1) {
        RF_LOOP
        for (u32 bit = 31 - (u32)__clz((int)factor); bit-- > 0;) {
            p = double_point<F>(p);
            if (factor >> bit & 1) p = add_different<F>(p, q);
        }
        u256 square = F::square(p.z);
        twice.x = F::mul(twice.x, square);
        twice.y = F::mul(twice.y, F::mul(square, p.z));
    }
    u256 square = F::square(q.y);  // `twice` has y times the Z of p, so p is scaled to the same Z
    p = {F::mul(p.x, square), F::mul(p.y, F::mul(square, q.y)), F::mul(p.z, q.y)};
    put(0, p.x, p.y, F::one());
    RF_LOOP
    for (u32 i = 1; i < count; i++) {
        u256 dx = F::sub(p.x, twice.x), dy = F::sub(p.y, twice.y), square = F::square(dx);
        u256 x = F::mul(p.x, square);
        twice.x = F::mul(twice.x, square);
        twice.y = F::mul(twice.y, F::sub(x, twice.x));
        p.x = F::sub(F::sub(F::square(dy), x), twice.x);
        p.y = F::sub(F::mul(dy, F::sub(twice.x, p.x)), twice.y);
        p.z = F::mul(p.z, dx);
        put(i, p.x, p.y, dx);
    }
    return p.z;
}

}  // namespace rf
