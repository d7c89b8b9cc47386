// Prefix sums and stable ranks within a block.
#pragma once
#include "word.cuh"

namespace rf {

// A block-wide exclusive prefix sum of one word per thread. All threads must call it; `shared` has threads / 32 words.
// out: the sum of x over the threads before this one; `total` is the sum over all threads
template <u32 Threads>
RF_FN u32 block_prefix(u32 x, u32* shared, u32& total) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 sum = x;
    RF_UNROLL
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 before = __shfl_up_sync(0xffffffff, sum, by);
        if (lane >= by) sum += before;
    }
    __syncthreads();  // earlier reads of `shared`
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    u32 before = 0;
    total = 0;
    RF_UNROLL
    for (u32 w = 0; w < Threads / 32; w++) {
        before += w < warp ? shared[w] : 0;
        total += shared[w];
    }
    return before + sum - x;
}

// out: the lanes of the warp with the same key, which has `bits` bits; all lanes must call it
RF_FN u32 lanes_with(u32 key, u32 bits) {
    u32 same = 0xffffffff;
    for (u32 bit = 0; bit < bits; bit++) {
        const u32 set = __ballot_sync(0xffffffff, (int)(key >> bit & 1));
        same &= key >> bit & 1 ? set : ~set;
    }
    return same;
}

}  // namespace rf
