// A tile of a matrix product, an item a warp: 16 x DEPTH by rows times DEPTH x 8 by columns, bytes to 32-bit words.
#include "mma.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void mma(const u32* left, const u32* right, i32* out, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (item >= end) return;  // whole warps
    constexpr u32 words = Task::depth / 4;  // of a row of the left matrix, and of a column of the right one
    u32 row = threadIdx.x % 32 / 4, part = threadIdx.x % 4;
    const u32* a = left + item * (16 * words) + row * words + part;
    const u32* b = right + item * (8 * words) + row * words + part;
    i32 c[4] = {0, 0, 0, 0};
    for (u32 k = 0; k < words; k += 8) {
        u32 rows[4] = {a[k], a[k + 8 * words], a[k + 4], a[k + 8 * words + 4]};
        u32 columns[2] = {b[k], b[k + 4]};
        mma_bytes(c, rows, columns);
    }
    i32* to = out + item * 128 + row * 8 + part * 2;
    to[0] = c[0], to[1] = c[1], to[64] = c[2], to[65] = c[3];
}
