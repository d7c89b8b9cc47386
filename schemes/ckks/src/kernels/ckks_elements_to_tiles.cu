// Decoding, second kernel: the first layers of the FFT. One thread per place of a tile.
#include "prelude.cuh"

#include "ckks_embedding.cuh"
#include "spread.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Task::threads)
    ckks_elements_to_tiles(const Complex* elements, Complex* tiles, const Complex* roots, u64 first, u64 end) {
    const Units<Task::threads> at(first, end, Task::tile);
    if (!at.live) return;
    const u64 begin = at.item * Task::slots + at.unit;
    Complex x[Task::tiles];
    RF_UNROLL
    for (u32 i = 0; i < Task::tiles; i++) x[i] = elements[begin + i * Task::tile];
    layers_between_tiles<true>(x, at.unit, roots);
    RF_UNROLL
    for (u32 i = 0; i < Task::tiles; i++) tiles[begin + i * Task::tile] = x[i];
}
