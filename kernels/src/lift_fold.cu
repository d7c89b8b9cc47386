// One row of ring elements from products in an auxiliary ring, folded by any sparse f in rounds: a block for each row.
// A row that suits shared memory is rebuilt and folded there; else it comes as 2n - 1 residues, and is folded where it is.
//
// x^n = sum of c x^k over the tail. A round takes the `gap` highest coefficients down, gap = n - (largest k): none of
// them lands on another. Each target sums what lands on it.
#include "lift.cuh"
#include "prelude.cuh"
using namespace rf;

// out: the 2n - 1 residues of an item; all threads of the block have met after they were written
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

// The tail by ascending k: each c (1 or 0 for c = -1, if Lift::units), then each k.
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
        // term i takes sources bottom .. top to targets k - n lower
        for (u64 pair = threadIdx.x; pair < (u64)terms * gap; pair += Lift::threads) {
            u32 i = (u32)(pair / gap), above = (u32)(pair % gap);
            // the last k is n - gap, and none above it is let through: a pipeline may bind any bytes here
            u32 k = (u32)exponent[i] < n - gap ? (u32)exponent[i] : n - gap;
            // a target is left to the highest term that reaches it
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
