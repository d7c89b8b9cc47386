// One row of ring elements into an auxiliary ring: centred representatives modulo each auxiliary prime, padded with zeros.
#include "crt.cuh"
#include "spread.cuh"
#include "stored.cuh"
#include "prelude.cuh"
using namespace rf;

// in: a word as inputs of the ring have it   out: the residue, < q
template <class L>
RF_FN typename L::Residue reduced(typename L::Residue x) {
    if constexpr (any_word<L>) return L::modulo().mul(x, L::one());
    else return x;
}

// out: x modulo prime number j
template <class L>
RF_FN u64 remainder(typename L::Residue x, u32 j) {
    if constexpr (L::below_primes) return x;
    else return remainder(x, L::divider(j));
}

extern "C" __global__ void lift_load(const Lift::Store* in, Lift::Word* out, u64 first, u64 end) {
    Spread<Cells> at(first, end);
    if (!at.live) return;
    Lift::Residue x{};
    if (at.cell < Lift::n) x = (Lift::Residue)in[(at.item * Lift::rows + Lift::row) * Lift::n + at.cell];
    x = reduced<Lift>(x);
    u32 negative = is_above(x, Lift::half());
    Lift::Word* to = out + at.item * ((u64)Lift::primes * Lift::length) + at.cell;
    RF_UNROLL
    for (u32 j = 0; j < Lift::primes; j++) {
        u64 r = remainder<Lift>(x, j) + select(negative, Lift::minus_q(j), 0ull);
        to[(u64)j * Lift::length] = (Lift::Word)sub_once(r, (u64)Lift::prime(j).q);
    }
}
