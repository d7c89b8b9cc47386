// Arithmetic modulo odd q < 2^61 for transforms: Mod61 is Mod64 with cheaper, less exact quotients in Shoup
// multiplication.
#pragma once
#include "mod64.cuh"

namespace rf {

struct Mod61 : Mod64 {
    u64 triple;  // 3q, stored because the compiler would compute it by a wide product at each use

    static constexpr u32 product_bound = 3;

    // in: any x, w.w < q   out: x w mod q, < 3q   (the quotient is exact, or one or two too small)
    RF_METHOD Word mul(Word x, Twiddle w) const { return dot_lo(x, w.w, mul_hi_middle(x, w.quotient), 0ull - q); }

    // in: x < B q, B <= 64   out: x mod q, < min(B, 3) q
    template <u32 B>
    RF_METHOD Word reduce(Word x) const {
        if constexpr (B <= 3) return x;
        else return Mod64::reduce<B>(x);
    }
    // in: b <= B q, a + B q < 2^64   out: a - b + B q, not reduced
    template <u32 B>
    RF_METHOD Word sub(Word a, Word b) const {
        return a + (times<B>() - b);
    }
    // in: b <= B q   out: B q - b, <= B q
    template <u32 B>
    RF_METHOD Word negate(Word b) const {
        return times<B>() - b;
    }

  private:
    template <u32 B>
    RF_METHOD Word times() const {
        if constexpr (B % 3 == 0) return B / 3 * triple;
        else return B * q;
    }
};

}  // namespace rf
