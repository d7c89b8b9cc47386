// 1 / (z - x) for the points x of a coset in bit-reversed order. A thread shares one inversion among its rows (Montgomery,
// 1987).
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_denominators(const Word* points, const Word* z, Word* inverses, u64 bits, u64 blocks, u64 first, u64) {
    constexpr u32 threads = Task::threads, elements = Task::elements;
    const u64 item = first + blockIdx.x / (u32)blocks, rows = 1ull << bits;
    const u64 begin = (u64)(blockIdx.x % (u32)blocks) * threads * elements + threadIdx.x;
    const E at = E::load(z + item * E_DEGREE);
    Word* own = inverses + item * rows * E_DEGREE;
    E before[elements], product = E::of(F::one());
    RF_LOOP
    for (u32 i = 0; i < elements; i++) {
        const u64 r = begin + i * threads;
        if (r >= rows) break;
        before[i] = product;
        product = product.mul(at.sub(E::of(stark::point_of<F>(points, r, (u32)bits))));
    }
    E inverse = product.inverse();
    RF_LOOP
    for (u32 i = elements; i-- > 0;) {
        const u64 r = begin + i * threads;
        if (r >= rows) continue;
        inverse.mul(before[i]).store(own + r * E_DEGREE);
        inverse = inverse.mul(at.sub(E::of(stark::point_of<F>(points, r, (u32)bits))));
    }
}
