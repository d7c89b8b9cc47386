// Unpacks numbers of Task::width bits, least significant bit first. Each thread unpacks one unit: 8, 16 or 32 numbers,
// which fill whole 32-bit words.
#include "pack.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void unpack_units(const u32* in, u16* out, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    constexpr u32 count = pack_unit(Task::width), words = count * Task::width / 32;
    u32 values[count], packed[words];
    RF_UNROLL
    for (u32 i = 0; i < words; i++) packed[i] = in[words * item + i];
    unpack_bits<Task::width, count>(packed, values);
    RF_UNROLL
    for (u32 i = 0; i < count; i++) out[count * item + i] = (u16)values[i];
}
