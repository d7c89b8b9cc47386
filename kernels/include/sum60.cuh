// Sums of up to eight products of numbers below 2^60, and their remainders by any modulus from 2 to 2^60.
//
// Numbers are split at bit 30, so that a word holds the sum of eight products of halves. The two mixed products of a
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
    u64 low, high, mixed;  // first + sum of x0 y0; sum of x1 y1; first + sum of (x0 + x1)(y0 + y1) mod 2^64

    // Starts the sum with a term `first` < 2^60.
    RF_METHOD explicit Sum60(u64 first) : low(first), high(0), mixed(first) {}
    // Adds x y; y has its lower 30 bits in its lower word and its upper 30 bits in its upper word.
    RF_METHOD void add(Halves x, u64 y) {
        u32 y0 = rf::low(y), y1 = rf::high(y);
        low = mad_fused(x.low, y0, low);
        high = mad_fused(x.high, y1, high);
        mixed = mad_fused(x.low + x.high, y0 + y1, mixed);
    }
};

// Barrett reduction of sums whose terms all carry a factor 2^shift, by the modulus times 2^shift.
struct Divisor60 {
    u64 d;      // 2^shift q, 2^59 <= d < 2^60
    u64 ratio;  // floor(2^123 / d), at most 2^64 - 1
    u32 shift;

    // out: the sum / 2^shift mod q.
    // The quotient is at most three too small, because truncating the sum, the ratio and the product and dropping the
    // product's lowest part cost less than one each.
    RF_METHOD u64 rem(const Sum60& s) const {
        u64 middle = s.mixed - s.low - s.high;  // x0 y1 + x1 y0, < 2^64 - 2^34
        u64 top = (s.high << 1) + ((middle + (s.low >> 30)) >> 29);  // floor(sum / 2^59)
        u64 rest = s.low + (middle << 30);
        rest = join(rf::low(rest), rf::high(rest) + (rf::low(s.high) << 28));  // the sum mod 2^64
        u64 r = mad_lo(mul_hi_middle(top, ratio), 0ull - d, rest);
        return sub_once(sub_once(r, d << 1), d) >> shift;
    }
};

}  // namespace rf
