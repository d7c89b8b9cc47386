// E8 encoding: each thread encodes a byte to two codewords, low nibble first.
#include "e8.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void e8_encode_bytes(const u8* in, u8* out, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    u32 byte = in[item];
    out[2 * item] = (u8)e8_encode(byte & 15);
    out[2 * item + 1] = (u8)e8_encode(byte >> 4);
}
