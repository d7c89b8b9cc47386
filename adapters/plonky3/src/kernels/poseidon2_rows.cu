// Poseidon2 sponge over the rows of a row-major matrix: the digest of each row, one thread per row.
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_rows(const Word* rows, Word* digests, const Word* constants, u64 columns, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    Word x[Hash::width];
    load<Hash>(x, rows, 0);
    absorb<Hash>(x, constants, rows + item * columns, 1, 0, (u32)columns, true);
    store<Hash>(digests, item, x, false);
}
