// Encoding, last kernel: residues of integers. A thread reduces two adjacent elements, which are pairs of integers, modulo
// all moduli.
//
// Roofline bound for k moduli: 8 bytes read and k residues written for each integer.
#include "prelude.cuh"

#include "ckks_embedding.cuh"
#include "crt.cuh"
#include "multiples.cuh"
#include "packed.cuh"
#include "spread.cuh"
using namespace rf;

// A modulus below 2^63, and the residue of 2^64 as a known factor.
struct Reduction {
    Barrett q;
    Divisor63::Factor upper;
};

// in: an integer below 2^120 in absolute value   out: its absolute value
RF_FN u128 magnitude(double x) {
    const u64 bits = bits_of(x), mantissa = (bits & 0x000fffffffffffffull) | 0x0010000000000000ull;
    const u32 exponent = (u32)(bits >> 52) & 0x7ff;  // of the last bit of the mantissa, plus 1075
    if (exponent < 1023) return u128{0, 0};
    if (exponent <= 1075) return u128{mantissa >> (1075 - exponent), 0};
    const u32 by = exponent - 1075;
    return by < 64 ? u128{mantissa << by, mantissa >> (64 - by)} : u128{0, mantissa << (by - 64)};
}

// moduli: of all limbs
extern "C" __global__ void __launch_bounds__(Task::threads)
    ckks_integers_to_residues(const Complex* integers, Store* residues, const Reduction* moduli, u64 limbs, u64 first, u64 end) {
    constexpr u32 lanes = 2;
    using Residues = Move<Store, lanes, lanes * sizeof(Store)>;
    const Units<Task::threads> at(first, end, Task::slots / lanes);
    if (!at.live) return;
    const Complex* from = integers + at.item * Task::slots + at.unit * lanes;
    Store* to = residues + at.item * limbs * (2 * Task::slots) + at.unit * lanes;
    double x[2][lanes];
    RF_UNROLL
    for (u32 i = 0; i < lanes; i++) {
        const Complex pair = from[i];
        x[0][i] = pair.re, x[1][i] = pair.im;
    }
    RF_LOOP
    for (u32 limb = 0; limb < limbs; limb++) {
        const Reduction by = moduli[limb];
        const u64 q = by.q.q;
        RF_UNROLL
        for (u32 half = 0; half < 2; half++) {
            Residues::template store<true>(to + half * Task::slots, [&](u32 i) {
                const u128 size = magnitude(x[half][i]);
                const u64 sum = sub_once(by.q.rem(size.lo) + Divisor63{q}.mul(size.hi, by.upper), q);
                return (Store)(x[half][i] < 0 && sum != 0 ? q - sum : sum);
            });
        }
        to += 2 * Task::slots;
    }
}
