// Product via a larger NTT, last step: one limb of ring elements from products in an auxiliary ring, reduced modulo any
// sparse f in rounds; one block per limb. If a limb fits shared memory, it is rebuilt (Garner) and reduced there.
// Otherwise the input is its 2n - 1 residues, which are reduced in place.
//
// x^n = sum of c x^k over the tail of f. A round reduces the `gap` highest coefficients, gap = n - (largest k), so that
// none of them contributes to another. Each target sums all its contributions.
#include "lift.cuh"
#include "prelude.cuh"
using namespace rf;

// out: the 2n - 1 residues of an item; all threads of the block have met since they were written
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

// in: x < q   out: c x
template <class L>
RF_FN typename L::Residue term(typename L::Residue x, const typename L::Coefficient& c) {
    auto q = L::modulo();
    if constexpr (L::units) return c ? x : q.negate(x);
    else return q.mul(x, c);
}

// tail: its terms by ascending k: first each c (if Lift::units, 1 for c = 1 and 0 for c = -1), then each k.
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
        // term i adds sources bottom .. top to targets that are n - k lower
        for (u64 pair = threadIdx.x; pair < (u64)terms * gap; pair += Lift::threads) {
            u32 i = (u32)(pair / gap), above = (u32)(pair % gap);
            // k is at most n - gap, and larger values are replaced: a pipeline may bind any bytes here
            u32 k = (u32)exponent[i] < n - gap ? (u32)exponent[i] : n - gap;
            // each target is summed by the highest term that reaches it
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
