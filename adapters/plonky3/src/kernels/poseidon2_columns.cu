// Poseidon2 sponge over the rows of a matrix, one thread per row. Writes the digest of each row, or the sponge's
// state if more columns follow. With column-major matrices, neighbouring threads read neighbouring words.
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_columns(const Word* columns, Word* to, const Word* constants, u64 rows, u64 to_row,
                      u64 to_column, u64 count, u64 ends, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    Word x[Hash::width];
    load<Hash>(x, columns, 0);
    absorb<Hash>(x, constants, columns + row_of(item, rows) * to_row, to_column, 0, (u32)count, ends);
    store<Hash>(to, item, x, !ends);
}
