// The powers of a number: 1, z, z^2, …
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

using F = Field<Q>;
constexpr u32 threads = Task::threads, elements = Task::elements;

extern "C" __global__ void __launch_bounds__(threads)
    vector_powers(const u256* points, u256* results, u64 count, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u64 begin = (u64)(blockIdx.x % (u32)blocks) * threads * elements + threadIdx.x;
    u256* to = results + item * count;
    // z^begin, and z^threads
    u256 square = load_limbs(points + item), power = F::one(), step = square;
    RF_LOOP
    for (u64 bit = 1; bit <= begin || bit <= threads; bit *= 2) {
        if (begin & bit) power = F::mul(power, square);
        if (bit == threads) step = square;
        square = F::square(square);
    }
    RF_LOOP
    for (u32 i = 0; i < elements; i++) {
        const u64 at = begin + i * threads;
        if (at >= count) break;
        to[at] = power;
        power = F::mul(power, step);
    }
}
