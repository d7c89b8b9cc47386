// Sums of up to sixteen products of numbers below 2^30, in one 64-bit word, and their Montgomery reduction by odd moduli
// below 2^30.
#pragma once
#include "word.cuh"

namespace rf {

// A number below 2^30.
struct Short {
    u32 x;

    RF_METHOD Short() = default;
    RF_METHOD explicit Short(u64 x) : x((u32)x) {}
};

struct Sum30 {
    using Weight = u32;

    u64 sum;

    // Starts the sum with a term `first` < 2^30.
    RF_METHOD explicit Sum30(u32 first) : sum(first) {}
    // Adds x y, for x, y < 2^30.
    RF_METHOD void add(Short x, u32 y) { sum = mad_fused(x.x, y, sum); }
};

struct Modulus30 {
    u32 q;
    u32 inverse;  // q^-1 mod 2^32

    // in: first + sum of K products x y, with first, y < q, x < 2^30   out: the sum / 2^32 mod q, < q
    // The upper word of the sum is below K q / 4.
    template <u32 K>
    RF_METHOD u32 reduce(const Sum30& s) const {
        u32 top = high(s.sum);
        if constexpr (K > 11) top = sub_once(top, q << 1);
        u32 r = top - mul_hi(low(s.sum) * inverse, q) + q;
        return sub_once(sub_once(r, q << 1), q);
    }
    // in: x < 2^32, c < q, quotient = floor(2^32 c / q)   out: x c mod q   (the quotient is exact or one less)
    RF_METHOD u32 times(Short x, u32 c, u32 quotient) const { return sub_once(x.x * c - mul_hi(x.x, quotient) * q, q); }
};

}  // namespace rf
