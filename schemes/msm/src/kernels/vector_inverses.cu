// Inverses of elements; those of zeros are zero. The elements of a block share an inversion (Montgomery, 1987).
#include "block_inversion.cuh"
#include "prelude.cuh"
using namespace rf;

using F = Field<Q>;
constexpr u32 threads = Task::threads, elements = Task::elements;

extern "C" __global__ void __launch_bounds__(threads)
    vector_inverses(const u256* values, u256* results, u64 count, u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u64 begin = (u64)(blockIdx.x % (u32)blocks) * threads * elements + threadIdx.x;
    const u256* own = values + item * count;
    u256* to = results + item * count;
    u256 before[elements], product = F::one();
    RF_LOOP
    for (u32 i = 0; i < elements; i++) {
        const u64 at = begin + i * threads;
        if (at >= count) break;
        before[i] = product;
        product = F::mul(product, nonzero<F>(load_limbs(own + at)));
    }
    u256 inverse = msm::invert_in_block<F, threads>(product, (u256*)shared);
    RF_LOOP
    for (u32 i = elements; i-- > 0;) {
        const u64 at = begin + i * threads;
        if (at >= count) continue;
        const u256 x = load_limbs(own + at);
        to[at] = select(is_zero(x), x, F::mul(inverse, before[i]));
        inverse = F::mul(inverse, nonzero<F>(x));
    }
}
