// One row of ring elements from products in an auxiliary ring, folded by x^n = c0 + c1 x.
#include "crt.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// in: x < L::q   out: C x, < L::q
template <class L, u64 C>
RF_FN u64 times(u64 x) {
    if constexpr (C == 1) return x;
    else if constexpr (C == L::q - 1) return sub_mod(0, x, L::q);
    else return L::divisor().mul(x, C);
}

// in: x < L::q   out: x and C times coefficient n + i, where there is one: i < L::high
template <class L, u64 C>
RF_FN u64 add_above(u64 x, const typename L::Word* from, u32 i) {
    if constexpr (C != 0) {
        if (i < L::high) return add_mod(x, times<L, C>(rebuild<L>(from + L::n + i, L::length)), L::q);
    }
    return x;
}

extern "C" __global__ void lift_store(const Lift::Word* in, Lift::Store* out, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    const Lift::Word* from = in + at.item * ((u64)Lift::primes * Lift::length);
    u64 x = rebuild<Lift>(from + at.cell, Lift::length);
    // x^(n + i) is c0 x^i + c1 x^(i + 1)
    x = add_above<Lift, Lift::c0>(x, from, at.cell);
    x = add_above<Lift, Lift::c1>(x, from, at.cell - 1);
    Lift::Store* to = out + at.item * ((u64)Lift::rows * Lift::n) + at.cell;
    if constexpr (Lift::clears) {
        for (u32 row = 0; row < Lift::rows; row++) to[(u64)row * Lift::n] = (Lift::Store)(row == Lift::row ? x : 0);
    } else {
        to[(u64)Lift::row * Lift::n] = (Lift::Store)x;
    }
}
