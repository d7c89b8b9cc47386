// Centred binomial sampling: each thread turns Task::eta words of random bits into 16 coefficients in [-eta, eta].
#include "sample.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void sample_blocks(const u32* in, short* out, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    constexpr u32 count = 16, words = count * Task::eta / 16;
    u32 stream[words];
    i32 coefficients[count];
    RF_UNROLL
    for (u32 i = 0; i < words; i++) stream[i] = in[words * item + i];
    centred_binomial<Task::eta, count>(stream, coefficients);
    RF_UNROLL
    for (u32 i = 0; i < count; i++) out[count * item + i] = (short)coefficients[i];
}
