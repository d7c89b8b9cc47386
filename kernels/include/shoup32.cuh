// Shared by 16- and 32-bit moduli: Shoup multiplication by a known factor (precomputed quotient), Barrett reduction of
// one word.
//
// quotient = floor(2^32 w / q) and ratio = floor(2^32 / q) are rounded down. So for any word x the estimated quotient
// is exact or one too small, and the remainder is below 2q.
#pragma once
#include "word.cuh"

namespace rf {

// A known factor w < q and its Shoup quotient floor(2^32 w / q).
struct alignas(8) Twiddle32 {
    u32 w, quotient;
};

// in: any x, w.w < q   out: x w mod q, < 2q   (three multiplies)
RF_FN u32 shoup_mul(u32 x, Twiddle32 w, u32 q) { return x * w.w - mul_hi(x, w.quotient) * q; }

// in: any x   out: x mod q, < 2q
RF_FN u32 barrett(u32 x, u32 q, u32 ratio) { return x - mul_hi(x, ratio) * q; }

// in: x < B q   out: x mod q, < min(B, 2) q
template <u32 B>
RF_FN u32 reduce32(u32 x, u32 q, u32 ratio) {
    if constexpr (B <= 2) return x;
    else if constexpr (B <= 4) return sub_once(x, 2 * q);
    else return barrett(x, q, ratio);
}

// in: x < B q   out: x mod q, < q
template <u32 B>
RF_FN u32 canonical32(u32 x, u32 q, u32 ratio) {
    if constexpr (B <= 1) return x;
    else return sub_once(reduce32<B>(x, q, ratio), q);
}

}  // namespace rf
