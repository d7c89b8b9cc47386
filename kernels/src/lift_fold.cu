// Product via a larger NTT, last step for any sparse quotient polynomial f: one limb of ring elements from products in
// an auxiliary ring, reduced modulo f in rounds; one block per limb. If a limb fits shared memory, the block rebuilds
// the product's 2n - 1 residues (Garner) and reduces them there. Otherwise the input already holds these residues,
// which are reduced in place.
//
// Modulo f, x^n is the sum of c x^k over the terms of the tail of f. A round reduces the `gap` highest coefficients,
// gap = n - (largest k), so that no reduced coefficient contributes to another. Each target coefficient sums all its
// contributions.
#include "lift.cuh"
#include "prelude.cuh"
using namespace rf;

// out: the 2n - 1 residues of the item's product, visible to all threads of the block
template <class L>
RF_FN typename L::Store* unfolded(typename L::Source* in, u64 item, unsigned char* shared) {
    if constexpr (L::in_place) {
        return in + item * (2 * L::n - 1);
    } else {
        auto x = (typename L::Store*)shared;
        const typename L::Word* from = in + item * ((u64)L::primes * L::length);
        for (u32 j = threadIdx.x; j < 2 * L::n - 1; j += L::threads)
            x[j] = (typename L::Store)rebuild<L>([&](u32 prime) { return from[(u64)prime * L::length + j]; });
        __syncthreads();
        return x;
    }
}

// in: x < q; c, the coefficient of a term of the tail   out: c x mod q
template <class L>
RF_FN typename L::Residue term(typename L::Residue x, const typename L::Coefficient& c) {
    auto q = L::modulo();
    if constexpr (L::units) return c ? x : q.negate(x);
    else return q.mul(x, c);
}

// tail: the terms of x^n modulo f by ascending exponent k: first each coefficient c (if Lift::units, 1 for c = 1 and 0
// for c = -1), then each k.
extern "C" __global__ void lift_fold(Lift::Source* in, const Lift::Coefficient* tail, Lift::Store* out, u64 first, u64 end) {
    RF_SHARED(shared);
    constexpr u32 n = Lift::n, gap = Lift::gap, terms = Lift::terms;
    const u64* exponent = (const u64*)(tail + terms);
    auto q = Lift::modulo();
    u64 item = first + blockIdx.x;
    Lift::Store* x = unfolded<Lift>(in, item, shared);
    u32 top = 2 * n - 1;
    while (top > n) {
        u32 bottom = top - n > gap ? top - gap : n;
        // term i adds coefficients bottom .. top to targets that are n - k lower
        for (u64 pair = threadIdx.x; pair < (u64)terms * gap; pair += Lift::threads) {
            u32 i = (u32)(pair / gap), above = (u32)(pair % gap);
            // k is at most n - gap; larger numbers are clamped, because a pipeline may bind any bytes to this port
            u32 k = (u32)exponent[i] < n - gap ? (u32)exponent[i] : n - gap;
            // the highest term that reaches a target computes its sum
            if (above >= top - bottom || (i + 1 < terms && exponent[i + 1] <= k + above)) continue;
            u32 target = bottom - n + k + above;
            Lift::Residue sum = x[target];
            for (u32 j = i;; j--) {
                u32 source = target + n - (u32)exponent[j];
                if (source >= top) break;
                sum = q.add(sum, term<Lift>(x[source], tail[j]));
                if (j == 0) break;
            }
            x[target] = (Lift::Store)sum;
        }
        __syncthreads();
        top = bottom;
    }
    Lift::Store* to = out + item * ((u64)Lift::rows * Lift::n);
    for (u32 j = threadIdx.x; j < Lift::n; j += Lift::threads) store_coefficient<Lift>(to, j, x[j]);
}
