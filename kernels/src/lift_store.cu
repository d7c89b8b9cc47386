// One row of ring elements from products in an auxiliary ring, folded by x^n = c0 + c1 x with small c0 and c1.
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
