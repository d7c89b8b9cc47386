// One row of ring elements from products in an auxiliary ring, folded by x^n = c0 + c1 x.
#include "crt.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// in: x < q   out: x and a multiple of coefficient n + i, where there is one: i < L::high
template <class L, Times C>
RF_FN typename L::Residue add_above(typename L::Residue x, const typename L::Word* from, u32 i,
                                    const typename L::Factor& factor) {
    if constexpr (C != Times::none) {
        auto q = L::modulo();
        if (i < L::high) return q.add(x, times<C>(q, rebuild<L>(from + L::n + i, L::length), factor));
    }
    return x;
}

extern "C" __global__ void lift_store(const Lift::Word* in, Lift::Store* out, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    const Lift::Word* from = in + at.item * ((u64)Lift::primes * Lift::length);
    Lift::Residue x = rebuild<Lift>(from + at.cell, Lift::length);
    // x^(n + i) is c0 x^i + c1 x^(i + 1)
    x = add_above<Lift, Lift::c0>(x, from, at.cell, Lift::factor(0));
    x = add_above<Lift, Lift::c1>(x, from, at.cell - 1, Lift::factor(1));
    Lift::Store* to = out + at.item * ((u64)Lift::rows * Lift::n) + at.cell;
    if constexpr (Lift::clears) {
        for (u32 row = 0; row < Lift::rows; row++)
            to[(u64)row * Lift::n] = row == Lift::row ? (Lift::Store)x : Lift::Store{};
    } else {
        to[(u64)Lift::row * Lift::n] = (Lift::Store)x;
    }
}
