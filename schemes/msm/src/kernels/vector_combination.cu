// A linear combination of up to four vectors, and of the sum of those before.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

using F = Field<Q>;

// factors: `all` for each item, of which the first vector has number `from`
extern "C" __global__ void __launch_bounds__(Task::threads)
    vector_combination(const u256* factors, const u256* v0, const u256* v1, const u256* v2, const u256* v3,
                       const u256* before, u256* results, u64 count, u64 all, u64 from, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u64 i = (u64)(blockIdx.x % (u32)blocks) * Task::threads + threadIdx.x;
    if (i >= count) return;
    const u256* const vectors[4] = {v0, v1, v2, v3};
    const u64 at = item * count + i;
    u256 sum = Task::continues ? load_limbs(before + at) : F::zero();
    RF_UNROLL
    for (u32 j = 0; j < Task::terms; j++)
        sum = F::add(sum, F::mul(load_limbs(factors + item * all + from + j), load_limbs(vectors[j] + at)));
    results[at] = sum;
}
