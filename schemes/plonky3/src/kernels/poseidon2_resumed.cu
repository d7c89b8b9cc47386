// As poseidon2_columns, from the states that sponges have of the columns before these.
#include "poseidon2.cuh"
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_resumed(const u32* columns, const u32* states, u32* to, const u32* constants, u64 first, u64 end) {
    u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64 row = item % Hash::rows;
    u32 x[width];
    load(x, states + item * width);
    absorb<Hash>(x, constants, [&](u32 column) { return columns[(u64)column * Hash::rows + row]; });
    store<Hash>(to, item, x);
}
