// E8 decoding: each thread decodes a block of eight coordinates modulo Task::q2 to a nibble.
#include "e8.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void e8_decode_blocks(const u16* in, u8* out, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    u32 v[8];
    RF_UNROLL
    for (u32 j = 0; j < 8; j++) v[j] = in[8 * item + j];
    out[item] = (u8)e8_decode<Task::q2>(v);
}
