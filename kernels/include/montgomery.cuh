// Montgomery multiplication (1985) of N 32-bit limbs, N even: residues modulo an odd q < 2^(32 N) in Montgomery form, R =
// 2^(32 N).
//
// Multiplication and reduction are interleaved limb by limb (CIOS). Two accumulators, for the even and the odd limbs of
// the left operand, make every 32 x 32 product one aligned multiply-add with carry. If Full is false, q < 2^(32 N - 1):
// no sum exceeds N limbs, and the carry words vanish.
#pragma once
#include "word.cuh"

namespace rf {

// An integer of N limbs, least significant first; loaded by 16-byte accesses.
template <u32 N>
struct alignas(16) Limbs {
    u32 limb[N];
};
using u256 = Limbs<8>;

// Loads x by 16-byte accesses. (From a struct of limbs, the compiler would load single limbs where it needs them.)
template <u32 N>
RF_FN Limbs<N> load_limbs(const Limbs<N>* x) {
    Limbs<N> r;
    RF_UNROLL
    for (u32 i = 0; i < N / 4; i++) {
        const u32x4 four = ((const u32x4*)x)[i];
        r.limb[4 * i] = four.x, r.limb[4 * i + 1] = four.y, r.limb[4 * i + 2] = four.z, r.limb[4 * i + 3] = four.w;
    }
    return r;
}

// in: x + 2^(32 N) carry < 2q   out: (x + 2^(32 N) carry) mod q, < q
template <u32 N, bool Full>
RF_FN Limbs<N> sub_modulus_once(const Limbs<N>& x, u32 carry, const u32* q) {
    Limbs<N> t;
    u32 borrow = sub_limbs<N>(t.limb, x.limb, q);
    if constexpr (Full) borrow &= carry - 1;
    select_limbs<N>(t.limb, borrow, x.limb, t.limb);
    return t;
}

// Adds the multiple of q that clears limb 0 of low_row. high_row begins one limb higher, and `over` is the limb above
// high_row. `inverse` is -q^-1 mod 2^32.
template <u32 N>
RF_FN void reduce_limb(u32* low_row, u32* high_row, u32& over, const u32* q, u32 inverse) {
    u32 m = low_row[0] * inverse;
    row_mad<N>(high_row, q + 1, m, over);
    row_mad_top<N>(low_row, q, m, high_row[N - 1], over);
}

// in: a < q, any b; inverse = -q^-1 mod 2^32   out: a b 2^(-32 N) mod q, < q.
// After each limb of b the sum is below a + q < 2q, and after the last one below (b / 2^(32 N) + 1) q < 2q.
template <u32 N, bool Full>
RF_FN Limbs<N> mul_montgomery(const Limbs<N>& a, const Limbs<N>& b, const u32* q, u32 inverse) {
    u32 x[N], y[N];  // one holds limbs 0..N-1, the other 1..N; they swap roles at each limb of b
    row_mul<N>(x, a.limb, b.limb[0]);
    row_mul<N>(y, a.limb + 1, b.limb[0]);
    u32 over = 0;
    reduce_limb<N>(x, y, over, q, inverse);
    RF_UNROLL
    for (u32 i = 1; i < N; i++) {
        u32* low_row = i & 1 ? y : x;
        u32* high_row = i & 1 ? x : y;
        if constexpr (!Full) over = 0;
        row_shift<N>(low_row[0], high_row, a.limb + 1, b.limb[i], over);
        row_mad_top<N>(low_row, a.limb, b.limb[i], high_row[N - 1], over);
        reduce_limb<N>(low_row, high_row, over, q, inverse);
    }
    // After the last limb, y is the low row, whose limb 0 is now zero: the product is x + y / 2^32 < 2q.
    Limbs<N> r;
    u32 rest[N];
    RF_UNROLL
    for (u32 i = 0; i + 1 < N; i++) rest[i] = y[i + 1];
    rest[N - 1] = 0;
    u32 carry = add_limbs<N>(r.limb, x, rest);
    return sub_modulus_once<N, Full>(r, carry + over, q);
}

// out: 1 if a is 0, else 0
template <u32 N>
RF_FN u32 is_zero(const Limbs<N>& a) {
    u32 any = 0;
    RF_UNROLL
    for (u32 i = 0; i < N; i++) any |= a.limb[i];
    return any == 0;
}
// out: 1 if a = b, else 0
template <u32 N>
RF_FN u32 is_equal(const Limbs<N>& a, const Limbs<N>& b) {
    u32 any = 0;
    RF_UNROLL
    for (u32 i = 0; i < N; i++) any |= a.limb[i] ^ b.limb[i];
    return any == 0;
}
// out: yes if c is not 0, else no
template <u32 N>
RF_FN Limbs<N> select(u32 c, const Limbs<N>& yes, const Limbs<N>& no) {
    Limbs<N> r;
    select_limbs<N>(r.limb, c, yes.limb, no.limb);
    return r;
}

}  // namespace rf
