// A digest from each pair of digests: the first half of their permutation.
#include "poseidon2.cuh"
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_pairs(const u32* pairs, u32* digests, const u32* constants, u64 first, u64 end) {
    u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    u32 x[width];
    combine<Hash>(x, pairs + item * width, constants);
    store<Hash>(digests, item, x);
}
