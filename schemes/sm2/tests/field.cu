// Computes ten operations of a 256-bit field on each pair of residues: ten results per item.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(64) field(const u256* a, const u256* b, u256* out, u64 first, u64 end) {
    using F = Field<Q>;
    const u64 item = first + (u64)blockIdx.x * 64 + threadIdx.x;
    if (item >= end) return;
    const u256 x = a[item], y = b[item];
    u256* to = out + 10 * item;
    to[0] = F::add(x, y);
    to[1] = F::sub(x, y);
    to[2] = F::half(x);
    to[3] = F::mul(x, y);
    to[4] = F::square(x);
    to[5] = F::to_montgomery(x);
    to[6] = F::from_montgomery(x);
    to[7] = F::inverse(x);
    to[8] = F::sub_once(F::mul_sub(x, y, to[0], to[1]), 0);
    to[9] = F::sub_once(F::mul_sub_square(x, y, to[1]), 0);
}
