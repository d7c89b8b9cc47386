// A kernel for tests of the test kit (the crate `ringforge-testkit`). Its result depends on every barrier and wait, on
// the table `factors`, and on all shared memory.
#include "copies.cuh"
#include "prelude.cuh"
using rf::u32;
using rf::u64;

// One block per item of n words. Threads exchange words through shared memory twice: across the block, then within a
// warp.
extern "C" __global__ void mix(const u32* factors, const u32* in, u32* out, u64 first, u64 end) {
    RF_SHARED(memory);
    u32* cells = reinterpret_cast<u32*>(memory);
    const u64 item = first + blockIdx.x;
    if (item >= end) return;
    const u32 t = threadIdx.x;
    rf::copy_ahead<4>(&cells[t], &in[item * Mix::n + t]);
    rf::await_copies();
    cells[t] = cells[t] * factors[t];
    __syncthreads();
    const u32 across = cells[(t + Mix::n / 2 + 5) % Mix::n];
    __syncthreads();
    cells[t] = across;
    __syncwarp();
    out[item * Mix::n + t] = across + 3 * cells[t ^ 1];
}
