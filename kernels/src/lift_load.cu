// One row of ring elements into an auxiliary ring: centred representatives modulo each auxiliary prime, padded with zeros.
#include "crt.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void lift_load(const Lift::Store* in, Lift::Word* out, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    u64 x = 0;
    if (at.cell < Lift::n) x = in[(at.item * Lift::rows + Lift::row) * Lift::n + at.cell];
    u32 negative = x > Lift::q / 2;
    Lift::Word* to = out + at.item * ((u64)Lift::primes * Lift::length) + at.cell;
    RF_UNROLL
    for (u32 j = 0; j < Lift::primes; j++) {
        Barrett p = Lift::barrett(j);
        u64 r = Lift::below_primes ? x : p.rem(x);
        to[(u64)j * Lift::length] = (Lift::Word)sub_once(r + select(negative, Lift::minus_q(j), 0ull), p.q);
    }
}
