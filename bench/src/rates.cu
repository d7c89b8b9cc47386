// Peak throughput of one execution pipe. Every thread runs independent chains of one operation, in which each step
// depends on the previous one. The prelude defines the constants and the operation, `step`.
#include "word.cuh"
#include "prelude.cuh"
using namespace rf;

// in: the seed of each thread, which is also the operand of its steps   out: the sum of the last values of its chains
extern "C" __global__ void __launch_bounds__(Rates::threads) rates(const u32* in, u64* out, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u32 seed = in[item];
    u32 x[Rates::chains];
    RF_UNROLL
    for (u32 c = 0; c < Rates::chains; c++) x[c] = seed + c;
    RF_LOOP
    for (u32 i = 0; i < Rates::steps / Rates::unrolled; i++) {
        RF_UNROLL
        for (u32 j = 0; j < Rates::unrolled; j++) {
            RF_UNROLL
            for (u32 c = 0; c < Rates::chains; c++) x[c] = step(x[c], seed);
        }
    }
    u64 sum = 0;
    RF_UNROLL
    for (u32 c = 0; c < Rates::chains; c++) sum += x[c];
    out[item] = sum;
}
