// First stage of verification: copies signatures to slots of whole words. One warp per item.
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Task::threads)
    mldsa_open(const u8* signatures, u32* slots, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * (Task::threads / 32) + threadIdx.x / 32;
    if (item >= end) return;
    const u8* from = signatures + item * signature;
    RF_LOOP
    for (u32 word = threadIdx.x % 32; word < slot / 4; word += 32) {
        u32 bytes = 0;
        RF_UNROLL
        for (u32 i = 0; i < 4; i++)
            if (4 * word + i < signature) bytes |= (u32)from[4 * word + i] << 8 * i;
        slots[item * (slot / 4) + word] = bytes;
    }
}
