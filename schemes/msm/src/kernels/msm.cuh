// Sums of many pairs of affine points. The prelude defines the curve `Curve` (`points.cuh`), and `Task` with the constants
// of the launch.
#pragma once
#include "buckets.cuh"
#include "divsteps.cuh"
#include "points.cuh"
#include "prelude.cuh"

namespace msm {

using F = Curve::F;
using Word = F::Word;
using Affine = Point<Word>;

// A point to be added: in memory, or infinity if `at` is null.
struct Operand {
    const Affine* at;
    u32 negative;

    RF_METHOD Word x() const {
        if (at == nullptr) return infinity<Word>().x;
        return load_limbs(&at->x);
    }
    RF_METHOD Word y() const {
        const Word y = load_limbs(&at->y);
        return select(negative, F::sub(F::zero(), y), y);
    }
    RF_METHOD Affine point() const {
        if (at == nullptr) return infinity<Word>();
        return {x(), y()};
    }
};

struct Addition {
    Operand left, right;
    Affine* to;  // may be either operand
};

template <class Q>
RF_FN typename Field<Q>::Word inverse_of(Field<Q>, const typename Field<Q>::Word& a) {
    return inverse_by_divsteps<Field<Q>>(a);
}
template <class Base, u32 B>
RF_FN typename Quadratic<Base, B>::Word inverse_of(Quadratic<Base, B>, const typename Quadratic<Base, B>::Word& a) {
    return Quadratic<Base, B>::inverse_by_norm(a, inverse_by_divsteps<Base>(Quadratic<Base, B>::norm(a)));
}

// One inversion for all threads of a block (Montgomery's trick, as a tree).
// in: x other than 0; tree, 2 Task::threads words of shared memory   out: 1 / x
RF_FN Word invert_in_block(const Word& x, Word* tree) {
    constexpr u32 threads = Task::threads;
    const u32 thread = threadIdx.x;
    tree[threads + thread] = x;
    RF_LOOP
    for (u32 half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) tree[half + thread] = F::mul(tree[2 * (half + thread)], tree[2 * (half + thread) + 1]);
    }
    if (thread == 0) tree[1] = inverse_of(F{}, tree[1]);
    Word inverse = x;
    RF_LOOP
    for (u32 width = 2; width <= threads; width *= 2) {
        const u32 node = width + thread;
        __syncthreads();
        if (thread < width) inverse = F::mul(tree[node / 2], tree[node ^ 1]);
        __syncthreads();
        if (thread < width) tree[node] = inverse;
    }
    return inverse;
}

// Computes a block's share of `count` additions, `per_thread` for each thread. All threads of a block must call it. `addition(i)` returns addition i; no two additions have an operand or a result in common.
template <class Get>
RF_FN void add_all(u64 count, u32 block, u32 per_thread, Word* tree, Get addition) {
    Word before[Task::most_per_thread], product = F::one();
    const u64 base = (u64)block * Task::threads * per_thread + threadIdx.x;
    if (base - threadIdx.x >= count) return;
    RF_LOOP
    for (u32 k = 0; k < per_thread; k++) {
        const u64 i = base + (u64)k * Task::threads;
        if (i >= count) break;
        const Addition a = addition(i);
        const Word x1 = a.left.x(), x2 = a.right.x();
        const auto y1 = [&] { return a.left.y(); };
        const Case which = case_of(x1, x2, y1, [&] { return a.right.y(); });
        before[k] = product;
        product = F::mul(product, denominator<F>(which, x1, x2, y1));
    }
    Word inverse = invert_in_block(product, tree);
    RF_LOOP
    for (u32 k = per_thread; k-- > 0;) {
        const u64 i = base + (u64)k * Task::threads;
        if (i >= count) continue;
        const Addition a = addition(i);
        const Affine p = a.left.point(), q = a.right.point();
        const auto y1 = [&] { return p.y; };
        const Case which = case_of(p.x, q.x, y1, [&] { return q.y; });
        const Word d = denominator<F>(which, p.x, q.x, y1), own = F::mul(inverse, before[k]);
        inverse = F::mul(inverse, d);
        *a.to = add_affine<Curve>(which, p, q, own);
    }
}

}  // namespace msm
