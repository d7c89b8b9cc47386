// Sums of up to sixteen products of numbers below 2^30, in one 64-bit word, and their remainders by any modulus from 2
// to 2^30.
#pragma once
#include "word.cuh"

namespace rf {

// A number below 2^30.
struct Short {
    u32 x;

    RF_METHOD Short() = default;
    RF_METHOD explicit Short(u64 x) : x((u32)x) {}
    RF_METHOD u64 whole() const { return x; }
};

struct Sum30 {
    u64 sum;

    // Starts the sum with a term `first` < 2^30.
    RF_METHOD explicit Sum30(u64 first) : sum(first) {}
    // Adds x y, for x, y < 2^30.
    RF_METHOD void add(Short x, u64 y) { sum = mad_fused(x.x, rf::low(y), sum); }
};

struct Divisor30 {
    u64 d;      // q
    u64 ratio;  // floor(2^64 / q)
    u32 shift;  // unused, so that both divisors have the same layout

    // out: the sum mod q
    // Barrett reduction. The quotient is at most two too small, because truncating the ratio, truncating the product
    // and dropping its lowest partial product cost less than one each. So the remainder is below 3q and fits 32 bits.
    RF_METHOD u64 rem(const Sum30& s) const {
        u32 q = rf::low(d), r = rf::low(s.sum) - rf::low(mul_hi_middle(s.sum, ratio)) * q;
        return sub_once(sub_once(r, q << 1), q);
    }
};

}  // namespace rf
