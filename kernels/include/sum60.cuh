// Sums of a few products of numbers below 2^60, and their Montgomery reduction by odd moduli below 2^60.
//
// Numbers are split at bit 30, so that a word holds the sum of 14 products of halves. The two mixed products of a
// term become one by Karatsuba's method: x0 y1 + x1 y0 = (x0 + x1)(y0 + y1) - x0 y0 - x1 y1. A term takes three wide
// products and no carries.
#pragma once
#include "word.cuh"

namespace rf {

// A number below 2^60, both halves below 2^30.
struct Halves {
    u32 low, high;

    RF_METHOD Halves() = default;
    RF_METHOD explicit Halves(u64 x) : low((u32)x & 0x3fffffff), high((u32)(x >> 30)) {}
    RF_METHOD u64 whole() const { return (u64)high << 30 | low; }
};

struct Sum60 {
    using Weight = u64;

    u64 low, high, mixed;  // first + sum of x0 y0; sum of x1 y1; first + sum of (x0 + x1)(y0 + y1) mod 2^64

    // Starts the sum with a term `first` < 2^60.
    RF_METHOD explicit Sum60(u64 first) : low(first), high(0), mixed(first) {}
    // Moves the bits of `low` above 30 to the mixed products. Needed after each `carry_after` products.
    static constexpr u32 carry_after = 14;
    RF_METHOD void carry() {
        mixed += (low >> 30) - (low & ~0x3fffffffull);
        low &= 0x3fffffff;
    }
    // Adds x y; y has its lower 30 bits in its lower word and its upper 30 bits in its upper word.
    RF_METHOD void add(Halves x, u64 y) {
        u32 y0 = rf::low(y), y1 = rf::high(y);
        low = mad_fused(x.low, y0, low);
        high = mad_fused(x.high, y1, high);
        mixed = mad_fused(x.low + x.high, y0 + y1, mixed);
    }
};

struct Modulus60 {
    Halves q;
    u32 inverse;  // -q^-1 mod 2^30

    // in: first + sum of K products x y, with first, y < q < 2^c, x < 2^b; K (2^b + 2^c) <= 14 2^60,
    // K 2^(b - 60) <= 2^Bits - 1
    // out: the sum / 2^60 mod q, < q
    // Two steps divide by 2^30 each. Then the sum is below (K 2^(b - 60) + 1) q.
    template <u32 Bits>
    RF_METHOD u64 reduce(const Sum60& s) const {
        constexpr u32 mask = 0x3fffffff;
        u64 middle = s.mixed - s.low - s.high;  // x0 y1 + x1 y0
        u32 m = low(s.low) * inverse & mask;
        middle = mad_fused(m, q.high, middle) + (mad_fused(m, q.low, s.low) >> 30);
        m = low(middle) * inverse & mask;
        u64 r = mad_fused(m, q.high, s.high) + (mad_fused(m, q.low, middle) >> 30);
        const u64 whole = q.whole();
        RF_UNROLL
        for (u32 i = Bits; i > 0; i--) r = sub_once(r, whole << (i - 1));
        return r;
    }
    // in: x < 2^64, c < q, quotient = floor(2^64 c / q)   out: x c mod q   (the quotient is exact or one less)
    RF_METHOD u64 times(Halves x, u64 c, u64 quotient) const {
        u64 a = x.whole();
        return sub_once(a * c - mul_hi(a, quotient) * q.whole(), q.whole());
    }
};

}  // namespace rf
