// The factors between the passes: root^(row column), an entry a thread.
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void two_pass_factors(const u256* squares, Mod256::Twiddle* factors, u64 first, u64 end) {
    u64 index = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= end) return;
    auto m = Task::field();
    u64 exponent = index / Task::columns * (index % Task::columns);
    u256 power;
    for (u32 i = 0; i < 8; i++) power.limb[i] = m.one[i];
    for (u32 bit = 0; exponent >> bit; bit++)
        if (exponent >> bit & 1) power = m.mul_montgomery(power, squares[bit]);
    factors[index] = m.twiddle(power);
}
