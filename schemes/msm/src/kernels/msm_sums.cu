// Sums of chunks of a segment, the first step of its prefix sums: one block per chunk.
#include "scan.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_sums(const u32* counts, u32* sums, u64 segments, u64 length, u64 first, u64) {
    RF_SHARED(shared);
    const u32 chunks = ((u32)length + Task::chunk - 1) / Task::chunk;
    const u64 blocks = segments * chunks, item = first + blockIdx.x / blocks, block = blockIdx.x % blocks;
    const u32 segment = (u32)(block / chunks), chunk = (u32)(block % chunks);
    const u32* from = counts + (item * segments + segment) * length;
    u32 sum = 0, total;
    RF_LOOP
    for (u32 k = threadIdx.x; k < Task::chunk; k += Task::threads) {
        const u32 i = chunk * Task::chunk + k;
        sum += i < length ? from[i] : 0;
    }
    block_prefix<Task::threads>(sum, (u32*)shared, total);
    if (threadIdx.x == 0) sums[item * blocks + block] = total;
}
