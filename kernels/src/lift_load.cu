// Product via a larger NTT, first step: writes one limb of ring elements into an auxiliary ring, as centred
// representatives modulo each auxiliary prime, zero-padded. One thread per coefficient of the auxiliary ring.
#include "lift.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void lift_load(const Lift::Store* in, Lift::Word* out, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    Lift::Residue x{};
    if (at.cell < Lift::n) x = (Lift::Residue)in[(at.item * Lift::rows + Lift::row) * Lift::n + at.cell];
    x = input_of<Lift>(x);
    Lift::Word* to = out + at.item * ((u64)Lift::primes * Lift::length) + at.cell;
    RF_UNROLL
    for (u32 j = 0; j < Lift::primes; j++) to[(u64)j * Lift::length] = lifted<Lift>(x, j);
}
