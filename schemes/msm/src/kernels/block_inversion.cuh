// One inversion for the threads of a block.
#pragma once
#include "divsteps.cuh"
#include "extension.cuh"

namespace msm {

using namespace rf;

template <class Q>
RF_FN typename Field<Q>::Word inverse_of(Field<Q>, const typename Field<Q>::Word& a) {
    return inverse_by_divsteps<Field<Q>>(a);
}
template <class Base, u32 B>
RF_FN typename Quadratic<Base, B>::Word inverse_of(Quadratic<Base, B>, const typename Quadratic<Base, B>::Word& a) {
    return Quadratic<Base, B>::inverse_by_norm(a, inverse_by_divsteps<Base>(Quadratic<Base, B>::norm(a)));
}

// Montgomery's trick, as a tree down to one product for each thread of a warp, which inverts these as fast as one.
// in: x other than 0; tree, 2 Threads words of shared memory   out: 1 / x
template <class F, u32 Threads>
RF_FN typename F::Word invert_in_block(const typename F::Word& x, typename F::Word* tree) {
    constexpr u32 roots = 32;
    if constexpr (Threads <= roots) return inverse_of(F{}, x);
    const u32 thread = threadIdx.x;
    // these places are not those of any x coordinate that `Ahead` (`msm.cuh`) may still hold for another thread
    tree[Threads + thread] = x;
    RF_LOOP
    for (u32 half = Threads / 2; half >= roots; half /= 2) {
        __syncthreads();
        if (thread < half) tree[half + thread] = F::mul(tree[2 * (half + thread)], tree[2 * (half + thread) + 1]);
    }
    if (thread < roots) tree[roots + thread] = inverse_of(F{}, tree[roots + thread]);
    typename F::Word inverse = x;
    RF_LOOP
    for (u32 width = 2 * roots; width <= Threads; width *= 2) {
        const u32 node = width + thread;
        __syncthreads();
        if (thread < width) inverse = F::mul(tree[node / 2], tree[node ^ 1]);
        __syncthreads();
        if (thread < width && width < Threads) tree[node] = inverse;
    }
    return inverse;
}

}  // namespace msm
