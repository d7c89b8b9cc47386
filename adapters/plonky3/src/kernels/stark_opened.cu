// Sums of the columns of a matrix times weights 1 / (z - x) - 1 / z, over chunks of rows.
#include "prelude.cuh"

// inverses: 1 / (z - x) of each row. at: 1 / z. sums: for each chunk and column
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_opened(const Word* matrix, const Word* inverses, const Word* at, Word* sums, u64 rows, u64 columns, u64 to_row,
                 u64 to_column, u64 chunks, u64 groups, u64 first, u64) {
    constexpr u32 threads = Task::threads, at_once = Task::columns, warps = threads / 32;
    RF_SHARED(shared);
    Word* of_warps = (Word*)shared;
    const u64 item = first + blockIdx.x / (u32)(chunks * groups);
    const u32 block = blockIdx.x % (u32)(chunks * groups), chunk = block / (u32)groups, group = block % (u32)groups;
    const E subtracted = E::load(at + item * E_DEGREE);
    E sum[at_once];
    RF_UNROLL
    for (u32 c = 0; c < at_once; c++) sum[c] = E::zero();
    const u64 begin = (u64)chunk * Task::rows, end = begin + Task::rows < rows ? begin + Task::rows : rows;
    RF_LOOP
    for (u64 r = begin + threadIdx.x; r < end; r += threads) {
        const E weight = E::load(inverses + r * E_DEGREE).sub(subtracted);
        RF_UNROLL
        for (u32 c = 0; c < at_once; c++) {
            const u64 column = (u64)group * at_once + c;
            if (column < columns) sum[c] = sum[c].add(weight.times(matrix[r * to_row + column * to_column]));
        }
    }
    RF_UNROLL
    for (u32 c = 0; c < at_once; c++) {
        RF_UNROLL
        for (u32 d = 0; d < E_DEGREE; d++) {
            Word x = sum[c].c[d];
            RF_UNROLL
            for (u32 by = 16; by > 0; by /= 2) x = F::add(x, __shfl_xor_sync(0xffffffff, x, (int)by));
            if (threadIdx.x % 32 == 0) of_warps[(c * E_DEGREE + d) * warps + threadIdx.x / 32] = x;
        }
    }
    __syncthreads();
    if (threadIdx.x >= at_once * E_DEGREE) return;
    const u64 column = (u64)group * at_once + threadIdx.x / E_DEGREE;
    if (column >= columns) return;
    Word all = 0;
    RF_LOOP
    for (u32 w = 0; w < warps; w++) all = F::add(all, of_warps[threadIdx.x * warps + w]);
    sums[((item * chunks + chunk) * columns + column) * E_DEGREE + threadIdx.x % E_DEGREE] = all;
}
