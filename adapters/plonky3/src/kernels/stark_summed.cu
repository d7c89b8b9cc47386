// Sums of words over chunks: one thread per word.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_summed(const Word* chunks, Word* sums, u64 number, u64 words, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u64 i = (u64)(blockIdx.x % (u32)blocks) * Task::threads + threadIdx.x;
    if (i >= words) return;
    Word sum = 0;
    RF_LOOP
    for (u64 chunk = 0; chunk < number; chunk++) sum = F::add(sum, chunks[(item * number + chunk) * words + i]);
    sums[item * words + i] = sum;
}
