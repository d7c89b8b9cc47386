// Packs numbers of Task::width bits, least significant bit first. Each thread packs one unit: 8, 16 or 32 numbers,
// which fill whole 32-bit words.
#include "pack.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void pack_units(const u16* in, u32* out, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    constexpr u32 count = pack_unit(Task::width), words = count * Task::width / 32;
    u32 values[count], packed[words];
    RF_UNROLL
    for (u32 i = 0; i < count; i++) values[i] = in[count * item + i];
    pack_bits<Task::width, count>(values, packed);
    RF_UNROLL
    for (u32 i = 0; i < words; i++) out[words * item + i] = packed[i];
}
