// Random bytes for each item, by ChaCha20 (random.cuh); one thread per item.
#include "random.cuh"
#include "prelude.cuh"
using rf::u32;
using rf::u32x4;
using rf::u64;  // not all of rf: rf::random_block has the kernel's name

extern "C" __global__ void __launch_bounds__(Task::threads)
    random_block(const rf::RandomKey* random_key, u32x4* out, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    u32 block[16];
    rf::random_block(*random_key, item, Task::attempt, block);
    u32x4* to = out + item * (Task::words / 4);
    RF_UNROLL
    for (u32 i = 0; i < Task::words; i += 4) to[i / 4] = {block[i], block[i + 1], block[i + 2], block[i + 3]};
}
