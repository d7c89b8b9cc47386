// The digest of each row of a matrix whose columns lie one after another, or the state of its sponge if more columns are to
// come: a thread for a row, so that neighbours read neighbours. Items beyond the rows begin with the first row again.
#include "poseidon2.cuh"
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_columns(const u32* columns, u32* to, const u32* constants, u64 first, u64 end) {
    u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64 row = item % Hash::rows;
    u32 x[width];
    clear(x);
    absorb<Hash>(x, constants, [&](u32 column) { return columns[(u64)column * Hash::rows + row]; });
    store<Hash>(to, item, x);
}
