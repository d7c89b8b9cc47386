// Like poseidon2_columns, but resumes each sponge from its state after the previous columns. The current block of this
// state already has `before` words.
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_resumed(const Word* columns, const Word* states, Word* to, const Word* constants, u64 rows,
                      u64 to_row, u64 to_column, u64 count, u64 ends, u64 before, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    Word x[Hash::width];
    load<Hash>(x, states + item * Hash::width, Hash::width);
    absorb<Hash>(x, constants, columns + row_of(item, rows) * to_row, to_column, (u32)before, (u32)count, ends);
    store<Hash>(to, item, x, !ends);
}
