// Sums of the parts of rows: one thread per row.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

using F = Field<Q>;

// starts: for each row, its first part, and at the end the number of parts. Rows beyond the last one become 0.
extern "C" __global__ void __launch_bounds__(Task::threads)
    sum_parts(const u32* starts, const u256* parts, u256* rows, u64 given, u64 all, u64 count, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u32 row = blockIdx.x % (u32)blocks * Task::threads + threadIdx.x;
    if (row >= count) return;
    const u32 end = row < given ? min_word(starts[row + 1], (u32)all) : 0;
    u256 sum = F::zero();
    RF_LOOP
    for (u32 i = row < given ? min_word(starts[row], end) : 0; i < end; i++)
        sum = F::add(sum, load_limbs(parts + item * all + i));
    rows[item * count + row] = sum;
}
