// A rotation: element i of the result is element i + by of the vector, or i + by - count.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Task::threads)
    vector_rotation(const u256* values, u256* results, u64 count, u64 by, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u64 i = (u64)(blockIdx.x % (u32)blocks) * Task::threads + threadIdx.x;
    if (i >= count) return;
    const u64 from = i + by < count ? i + by : i + by - count;
    results[item * count + i] = load_limbs(values + item * count + from);
}
