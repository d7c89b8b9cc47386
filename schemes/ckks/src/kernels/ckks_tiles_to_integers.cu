// Encoding, second kernel: the last layers of the inverse FFT, then coefficients times the scale, rounded to integers.
// One thread per place of a tile.
#include "prelude.cuh"

#include "ckks_embedding.cuh"
#include "spread.cuh"
using namespace rf;

// out: the nearest integer to x, the even one if there are two   (from 2^52 on, all doubles are integers)
RF_FN double nearest(double x) {
    constexpr double offset = 4503599627370496.0;
    const double size = x < 0 ? -x : x, rounded = size < offset ? __dadd_rn(__dadd_rn(size, offset), -offset) : size;
    return x < 0 ? -rounded : rounded;
}

// scale: one double. integers: those of coefficients t and t + slots as element t; 0 for an integer that is not below the
// double `most` in absolute value. The status of its item is then Task::too_large.
extern "C" __global__ void __launch_bounds__(Task::threads)
    ckks_tiles_to_integers(const Complex* tiles, const double* scale, Complex* integers, u32* statuses, const Complex* roots,
                           u64 most, u64 first, u64 end) {
    const Units<Task::threads> at(first, end, Task::tile);
    if (!at.live) return;
    const u64 begin = at.item * Task::slots + at.unit;
    Complex x[Task::tiles];
    RF_UNROLL
    for (u32 i = 0; i < Task::tiles; i++) x[i] = tiles[begin + i * Task::tile];
    layers_between_tiles<false>(x, at.unit, roots);
    const double factor = *scale / (double)Task::slots, bound = double_of(most);
    bool fits = true;
    auto integer = [&](double part) {
        const double rounded = nearest(__dmul_rn(part, factor));
        const bool below = rounded < bound && -rounded < bound;
        fits = fits && below;
        return below ? rounded : 0.0;
    };
    RF_UNROLL
    for (u32 i = 0; i < Task::tiles; i++) {
        const Complex z = mul(x[i], conjugate(roots[Task::slots + i * Task::tile + at.unit]));
        integers[begin + i * Task::tile] = Complex{integer(z.re), integer(z.im)};
    }
    if (!fits) statuses[at.item] = Task::too_large;
}
