// The digest of each row of a matrix.
#include "poseidon2.cuh"
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_rows(const u32* rows, u32* digests, const u32* constants, u64 first, u64 end) {
    u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u32* row = rows + item * Hash::columns;
    u32 x[width];
    clear(x);
    absorb<Hash>(x, constants, [&](u32 column) { return row[column]; });
    store<Hash>(digests, item, x);
}
