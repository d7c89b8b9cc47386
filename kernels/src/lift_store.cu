// Product via a larger NTT, last step: rebuilds one limb of ring elements from products in an auxiliary ring (Garner),
// reduced modulo f = x^n - c1 x - c0 with c0, c1 in {-1, 0, 1}. One thread per coefficient.
#include "lift.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void lift_store(const Lift::Word* in, Lift::Store* out, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    auto x = (Lift::Store)folded<Lift>(in + at.item * ((u64)Lift::primes * Lift::length), at.cell);
    store_coefficient<Lift>(out + at.item * ((u64)Lift::rows * Lift::n), at.cell, x);
}
