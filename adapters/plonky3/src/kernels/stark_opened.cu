// Sums of the columns of a matrix times weights 1 / (z - x) - 1 / z, for one point z or two, over chunks of rows.
#include "prelude.cuh"

// here, next: 1 / (z - x) of each row. at: 1 / z of each point. sums: for each chunk, column and point
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_opened(const Word* matrix, const Word* here, const Word* next, const Word* at, Word* sums, u64 rows, u64 columns,
                 u64 to_row, u64 to_column, u64 chunks, u64 groups, u64 first, u64) {
    constexpr u32 threads = Task::threads, at_once = Task::columns, warps = threads / 32;
    constexpr u32 points = Task::points, words = points * E_DEGREE, together = 4;
    RF_SHARED(shared);
    Word* of_warps = (Word*)shared;
    const u64 item = first + blockIdx.x / (u32)(chunks * groups);
    const u32 block = blockIdx.x % (u32)(chunks * groups), chunk = block / (u32)groups, group = block % (u32)groups;
    const Word* own_at = at + item * 2 * E_DEGREE;
    Word sum[at_once][words];
    RF_UNROLL
    for (u32 c = 0; c < at_once; c++) {
        RF_UNROLL
        for (u32 w = 0; w < words; w++) sum[c][w] = 0;
    }
    const u64 begin = (u64)chunk * Task::rows, end = begin + Task::rows < rows ? begin + Task::rows : rows;
    RF_LOOP
    for (u64 r = begin + threadIdx.x; r < end; r += together * threads) {
        Word weight[words][together];
        u32 step[together];
        RF_UNROLL
        for (u32 i = 0; i < together; i++) {
            // a row that does not exist has the weight 0
            const bool exists = r + i * threads < end;
            step[i] = exists ? i * threads : 0;
            RF_UNROLL
            for (u32 p = 0; p < points; p++) {
                const E inverse = E::load((p == 0 ? here : next) + (r + step[i]) * E_DEGREE);
                const E of_point = inverse.sub(E::load(own_at + p * E_DEGREE));
                RF_UNROLL
                for (u32 d = 0; d < E_DEGREE; d++) weight[p * E_DEGREE + d][i] = exists ? of_point.c[d] : 0;
            }
        }
        RF_UNROLL
        for (u32 c = 0; c < at_once; c++) {
            const u64 column = (u64)group * at_once + c;
            if (column >= columns) continue;
            const Word* own = matrix + r * to_row + column * to_column;
            Word x[together];
            RF_UNROLL
            for (u32 i = 0; i < together; i++) x[i] = own[step[i] * to_row];
            RF_UNROLL
            for (u32 w = 0; w < words; w++) sum[c][w] = F::add(sum[c][w], F::dot(weight[w], x));
        }
    }
    RF_UNROLL
    for (u32 c = 0; c < at_once; c++) {
        RF_UNROLL
        for (u32 w = 0; w < words; w++) {
            Word x = sum[c][w];
            RF_UNROLL
            for (u32 by = 16; by > 0; by /= 2) x = F::add(x, __shfl_xor_sync(0xffffffff, x, (int)by));
            if (threadIdx.x % 32 == 0) of_warps[(c * words + w) * warps + threadIdx.x / 32] = x;
        }
    }
    __syncthreads();
    if (threadIdx.x >= at_once * words) return;
    const u64 column = (u64)group * at_once + threadIdx.x / words;
    if (column >= columns) return;
    Word all = 0;
    RF_LOOP
    for (u32 w = 0; w < warps; w++) all = F::add(all, of_warps[threadIdx.x * warps + w]);
    sums[((item * chunks + chunk) * columns + column) * words + threadIdx.x % words] = all;
}
