// Scalar times point on y^2 = x^3 + a x + b, an item a thread. Branches on its operands: for public data only.
#include "prelude.cuh"
using namespace rf;

using Word = u256;

// Coordinates in Montgomery form; all zero is the point at infinity (no curve of odd order has b = 0).
struct Affine {
    Word x, y;
};
// (X / Z^2, Y / Z^3); Z = 0 is the point at infinity.
struct Jacobian {
    Word x, y, z;
};

RF_FN bool is_zero(const Word& a) {
    u32 any = 0;
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) any |= a.limb[i];
    return any == 0;
}

// The bits of a number from the highest down; registers cannot be indexed, so the limbs move up.
struct Bits {
    Word left;
    u32 limb;
    RF_METHOD bool next(u32 bit) {
        if (bit % 32 == 31) {
            limb = left.limb[7];
            RF_UNROLL
            for (u32 i = 7; i > 0; i--) left.limb[i] = left.limb[i - 1];
        }
        return limb >> bit % 32 & 1;
    }
};

struct Curve {
    Mod256 m;
    Word a;

    RF_METHOD Word mul(Word x, Word y) const { return m.mul_montgomery(x, y); }
    RF_METHOD Word sub(Word x, Word y) const { return m.sub<1>(x, y); }
    RF_METHOD Word twice(Word x) const { return m.add(x, x); }
    RF_METHOD Word one() const {
        Word w;
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) w.limb[i] = m.one[i];
        return w;
    }
    // out: 1 / x, as x^(q-2); q - 2 has no borrow beyond the lowest limb
    RF_METHOD Word inverse(Word x) const {
        Word power = one();
        Bits exponent{};
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) exponent.left.limb[i] = m.q[i] - (i == 0 ? 2 : 0);
        for (u32 bit = 256; bit-- > 0;) {
            power = mul(power, power);
            if (exponent.next(bit)) power = mul(power, x);
        }
        return power;
    }

    // Infinity and points of order two double to infinity by themselves.
    RF_METHOD Jacobian dbl(const Jacobian& p) const {
        Word xx = mul(p.x, p.x), yy = mul(p.y, p.y), zz = mul(p.z, p.z);
        Word slope = m.add(m.add(twice(xx), xx), mul(a, mul(zz, zz)));
        Word s = twice(twice(mul(p.x, yy)));
        Jacobian r;
        r.x = sub(mul(slope, slope), twice(s));
        r.y = sub(mul(slope, sub(s, r.x)), twice(twice(twice(mul(yy, yy)))));
        r.z = twice(mul(p.y, p.z));
        return r;
    }
    RF_METHOD Jacobian add(const Jacobian& p, const Affine& q) const {
        if (is_zero(q.x) && is_zero(q.y)) return p;
        if (is_zero(p.z)) return Jacobian{q.x, q.y, one()};
        Word zz = mul(p.z, p.z);
        Word h = sub(mul(q.x, zz), p.x), slope = sub(mul(q.y, mul(zz, p.z)), p.y);
        if (is_zero(h) && is_zero(slope)) return dbl(p);
        Word hh = mul(h, h), hhh = mul(hh, h), v = mul(p.x, hh);
        Jacobian r;
        r.x = sub(sub(mul(slope, slope), hhh), twice(v));
        r.y = sub(mul(slope, sub(v, r.x)), mul(p.y, hhh));
        r.z = mul(p.z, h);
        return r;
    }
    // The inverse of Z = 0 comes out as 0, which leads to (0, 0).
    RF_METHOD Affine affine(const Jacobian& p) const {
        Word z = inverse(p.z), zz = mul(z, z);
        return Affine{mul(p.x, zz), mul(p.y, mul(zz, z))};
    }
};

extern "C" __global__ void curve(const Word* scalars, const Affine* points, Affine* out, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    Curve e{Task::field(), Task::a()};
    Bits scalar{scalars[item], 0};
    Affine p = points[item];
    Jacobian sum{Word{}, Word{}, Word{}};
    for (u32 bit = 256; bit-- > 0;) {
        sum = e.dbl(sum);
        if (scalar.next(bit)) sum = e.add(sum, p);
    }
    out[item] = e.affine(sum);
}
