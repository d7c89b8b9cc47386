// A copy of items of ITEM bytes, 16 bytes a thread: what memory gives at best.
#include "word.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void copy(const u32x4* in, u32x4* out, u64 first, u64 end) {
    const u64 item = first + blockIdx.x;
    if (item >= end) return;
    const u64 at = item * (ITEM / 16) + threadIdx.x;
    out[at] = in[at];
}
