// One row of ring elements from products in an auxiliary ring, folded by any sparse f in rounds: a block for each row.
//
// x^n = sum of c x^k over the tail. A round takes the `gap` highest coefficients down, gap = n - (largest k): none of
// them lands on another. Each target sums what lands on it.
#include "crt.cuh"
#include "prelude.cuh"
using namespace rf;

// The tail: pairs (k, c) by ascending k, then for each exponent e <= n the number of pairs with k < e.
extern "C" __global__ void lift_fold(const Lift::Word* in, const u64* tail, Lift::Store* out, u64 first, u64 end) {
    RF_SHARED(shared);
    constexpr u32 n = Lift::n, gap = Lift::gap;
    const u64* below = tail + 2 * Lift::terms;
    Lift::Store* x = (Lift::Store*)shared;
    u64 item = first + blockIdx.x;
    const Lift::Word* from = in + item * ((u64)Lift::primes * Lift::length);
    for (u32 j = threadIdx.x; j < 2 * n - 1; j += Lift::threads)
        x[j] = (Lift::Store)rebuild<Lift>(from + j, Lift::length);
    __syncthreads();
    u32 top = 2 * n - 1;
    while (top > n) {
        // sources bottom .. top, targets (bottom - n) .. (top - gap), all below bottom
        u32 bottom = top - n > gap ? top - gap : n;
        for (u32 target = bottom - n + threadIdx.x; target < top - gap; target += Lift::threads) {
            u32 k_first = target + n + 1 > top ? target + n + 1 - top : 0;
            u32 k_end = min_word(target + n + 1 - bottom, n);
            u64 sum = x[target];
            for (u64 i = below[k_first]; i < below[k_end]; i++) {
                u64 source = x[target + n - (u32)tail[2 * i]];
                u64 c = tail[2 * i + 1];
                if constexpr (Lift::units) source = select(c == 1, source, sub_mod(0, source, Lift::q));
                else source = Lift::divisor().mul(source, c);
                sum = add_mod(sum, source, Lift::q);
            }
            x[target] = (Lift::Store)sum;
        }
        __syncthreads();
        top = bottom;
    }
    Lift::Store* to = out + item * ((u64)Lift::rows * n);
    for (u32 j = threadIdx.x; j < n; j += Lift::threads) {
        if constexpr (Lift::clears) {
            for (u32 row = 0; row < Lift::rows; row++)
                to[(u64)row * n + j] = (Lift::Store)(row == Lift::row ? x[j] : 0);
        } else {
            to[(u64)Lift::row * n + j] = x[j];
        }
    }
}
