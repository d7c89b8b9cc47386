// Complex numbers in doubles, and the FFT layers of the canonical embedding. Include it after the prelude.
//
// The butterflies have radix 2 and a fixed order. A complex product takes four products and two sums, without fused
// multiply-add. Every device and CPU thus computes the same bits.
//
// The roots of n elements: a layer with butterflies between elements at distance h reads e^(i pi t / h) at roots[h + t].
// The twist of element t, e^(i pi t / 2n), is roots[n + t].
//
// A block computes the layers at distances below Task::tile in shared memory, one tile of adjacent elements at a time. A
// thread computes the others in registers: it has the elements at the same place of all Task::tiles tiles.
#pragma once
#include "word.cuh"

namespace rf {

struct alignas(16) Complex {
    double re, im;
};

// in: an entry of the table of slots   out: the same   (limited, because a pipeline may bind any bytes to a port)
RF_FN u32 slot_of(u32 entry) { return entry & (Task::slots - 1); }

RF_FN Complex add(Complex a, Complex b) { return {__dadd_rn(a.re, b.re), __dadd_rn(a.im, b.im)}; }
RF_FN Complex sub(Complex a, Complex b) { return {__dadd_rn(a.re, -b.re), __dadd_rn(a.im, -b.im)}; }
RF_FN Complex mul(Complex a, Complex b) {
    return {__dadd_rn(__dmul_rn(a.re, b.re), -__dmul_rn(a.im, b.im)),
            __dadd_rn(__dmul_rn(a.re, b.im), __dmul_rn(a.im, b.re))};
}
RF_FN Complex conjugate(Complex a) { return {a.re, -a.im}; }

// in: elements at distance h, and e^(i pi t / h) for their place t
// out: ToSlots: Gentleman-Sande butterfly; otherwise Cooley-Tukey butterfly with the inverse root, which undoes the
//     other but for a factor of 2
template <bool ToSlots>
RF_FN void butterfly(Complex& a, Complex& b, Complex root) {
    const Complex x = a, y = ToSlots ? b : mul(b, conjugate(root));
    a = add(x, y);
    b = ToSlots ? mul(sub(x, y), root) : sub(x, y);
}

// The layers at distances below Task::tile, in ascending order, or in descending order if ToSlots. Ends with a barrier.
template <bool ToSlots>
RF_FN void layers_in_tile(Complex* tile, const Complex* roots) {
    RF_LOOP
    for (u32 layer = 1; layer < Task::tile; layer *= 2) {
        const u32 half = ToSlots ? Task::tile / 2 / layer : layer;
        RF_LOOP
        for (u32 i = threadIdx.x; i < Task::tile / 2; i += Task::threads) {
            const u32 t = i & (half - 1), low = 2 * i - t;
            butterfly<ToSlots>(tile[low], tile[low + half], roots[half + t]);
        }
        __syncthreads();
    }
}

// The layers at distances from Task::tile on, in the same orders, for the elements at this place of each tile.
template <bool ToSlots>
RF_FN void layers_between_tiles(Complex (&x)[Task::tiles], u32 place, const Complex* roots) {
    RF_UNROLL
    for (u32 layer = 1; layer < Task::tiles; layer *= 2) {
        const u32 half = ToSlots ? Task::tiles / 2 / layer : layer;
        RF_UNROLL
        for (u32 i = 0; i < Task::tiles / 2; i++) {
            const u32 t = i & (half - 1), low = 2 * i - t;
            butterfly<ToSlots>(x[low], x[low + half], roots[(half + t) * Task::tile + place]);
        }
    }
}

}  // namespace rf
