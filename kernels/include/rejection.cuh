// Rejection sampling from a stream per thread, with coalesced stores.
#pragma once
#include "word.cuh"

namespace rf {

// Each live thread samples `Count` numbers, and its warp stores them to row threadIdx.x of `rows`. All threads of the
// warp must call it.
// in: `shared`, `pitch` bytes for each thread of the block, an odd number of 32-bit words, so that threads in lockstep
//     access different banks; more(numbers) takes the next block of the thread's stream, writes the numbers that it
//     accepts, and returns how many there are
template <u32 Count, class E, class More>
RF_FN void sample_by_rejection(unsigned char* shared, u32 pitch, bool live, E* rows, More more) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x - lane;
    u32 kept = live ? 0 : Count;
    while (__any_sync(0xffffffff, kept < Count)) {
        const u32 fresh = min_word(more((E*)(shared + threadIdx.x * pitch)), Count - kept);
        __syncwarp();
        RF_LOOP
        for (u32 of = 0; of < 32; of++) {
            const u32 count = __shfl_sync(0xffffffff, fresh, of), at = __shfl_sync(0xffffffff, kept, of);
            const E* from = (const E*)(shared + (warp + of) * pitch);
            RF_LOOP
            for (u32 i = lane; i < count; i += 32) rows[(u64)(warp + of) * Count + at + i] = from[i];
        }
        __syncwarp();
        kept += fresh;
    }
}

}  // namespace rf
