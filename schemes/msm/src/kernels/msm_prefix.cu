// Replaces the numbers of a segment by their exclusive prefix sums: one block per chunk.
#include "scan.cuh"
#include "prelude.cuh"
using namespace rf;

// sums: the sums of all chunks
extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_prefix(const u32* sums, u32* counts, u64 segments, u64 length, u64 first, u64) {
    RF_SHARED(shared);
    const u32 chunks = ((u32)length + Task::chunk - 1) / Task::chunk;
    const u64 blocks = segments * chunks, item = first + blockIdx.x / blocks, block = blockIdx.x % blocks;
    const u32 segment = (u32)(block / chunks), chunk = (u32)(block % chunks);
    u32* at = counts + (item * segments + segment) * length;
    u32 sum = 0, before, total;
    RF_LOOP
    for (u32 i = threadIdx.x; i < chunk; i += Task::threads) sum += sums[item * blocks + (u64)segment * chunks + i];
    block_prefix<Task::threads>(sum, (u32*)shared, before);
    RF_LOOP
    for (u32 k = threadIdx.x; k < Task::chunk; k += Task::threads) {
        const u32 i = chunk * Task::chunk + k, x = i < length ? at[i] : 0;
        const u32 prefix = block_prefix<Task::threads>(x, (u32*)shared, total);
        if (i < length) at[i] = before + prefix;
        before += total;
    }
}
