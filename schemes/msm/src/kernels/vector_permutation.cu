// A permutation of elements: a rotation by `number`, so that element i of the result is element i + number; or, with
// Task::reverses, the reversal of indices of `number` bits.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Task::threads)
    vector_permutation(const u256* values, u256* results, u64 count, u64 number, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u64 i = (u64)(blockIdx.x % (u32)blocks) * Task::threads + threadIdx.x;
    if (i >= count) return;
    const u64 rotated = i + number < count ? i + number : i + number - count;
    const u64 from = Task::reverses ? __brev((u32)i) >> (32 - number) : rotated;
    results[item * count + i] = load_limbs(values + item * count + from);
}
