// A digest from each pair of digests, and another from that and the digest of the row that joins the tree there.
#include "poseidon2.cuh"
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_injected(const u32* pairs, const u32* rows, u32* digests, const u32* constants, u64 first, u64 end) {
    u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    u32 x[width];
    combine<Hash>(x, pairs + item * width, constants);
    RF_UNROLL
    for (u32 i = 0; i < digest; ++i) x[digest + i] = rows[item * digest + i];
    permute<Hash>(x, constants);
    store<Hash>(digests, item, x);
}
