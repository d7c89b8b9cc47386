// Replaces columns by their running sums, in place. A block has `rows` rows of one column, and a thread some rows that
// follow each other.
#include "prelude.cuh"

// before: for each of D columns, the sum of the rows before each block's
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_accumulated(const Word* before, Word* columns, u64 log_n, u64 all, u64 chunks, u64 first, u64) {
    constexpr u32 threads = Task::threads, each = Task::rows / threads;
    RF_SHARED(shared);
    Word* of_threads = (Word*)shared;
    const u64 item = first + blockIdx.x / (u32)(chunks * E_DEGREE);
    const u32 block = blockIdx.x % (u32)(chunks * E_DEGREE), column = block / (u32)chunks, chunk = block % (u32)chunks;
    const u64 begin = (u64)chunk * Task::rows + threadIdx.x * each, n = 1ull << log_n;
    Word* own = columns + ((item * all + column) << log_n);
    Word value[each], sum = 0;
    RF_UNROLL
    for (u32 i = 0; i < each; i++) {
        value[i] = begin + i < n ? own[begin + i] : 0;
        sum = F::add(sum, value[i]);
    }
    of_threads[threadIdx.x] = sum;
    // after each round, the sum of up to twice as many threads, which end with this one (Kogge and Stone, 1973)
    RF_LOOP
    for (u32 by = 1; by < threads; by *= 2) {
        __syncthreads();
        const Word other = threadIdx.x >= by ? of_threads[threadIdx.x - by] : 0;
        __syncthreads();
        of_threads[threadIdx.x] = F::add(of_threads[threadIdx.x], other);
    }
    __syncthreads();
    Word running = before[(item * E_DEGREE + column) * chunks + chunk];
    if (threadIdx.x > 0) running = F::add(running, of_threads[threadIdx.x - 1]);
    RF_UNROLL
    for (u32 i = 0; i < each; i++) {
        if (begin + i < n) own[begin + i] = running;
        running = F::add(running, value[i]);
    }
}
