// Warp-level products of small byte matrices on tensor cores (mma.sync). Inline PTX, with a portable twin.
#pragma once
#include "word.cuh"

namespace rf {

#if !RF_PTX
// in: four signed bytes in each of a and b   out: c + their scalar product
RF_FN i32 dot_bytes(u32 a, u32 b, i32 c) {
    RF_UNROLL
    for (u32 i = 0; i < 32; i += 8) c += (i32)(signed char)(a >> i) * (i32)(signed char)(b >> i);
    return c;
}
#endif

// c += a b for matrices of signed bytes: a is 16 x 32, b is 32 x 8, c is 16 x 8 with 32-bit entries.
// All lanes of the warp must call it. With g = lane / 4 and t = lane % 4, a lane holds these entries, lowest byte
// first:
//   a[h + 2 k]: row g + 8 h, columns 16 k + 4 t + (0 .. 3);
//   b[k]: column g, rows 16 k + 4 t + (0 .. 3);
//   c[e + 2 h]: row g + 8 h, column 2 t + e.
RF_FN void mma_bytes(i32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if RF_PTX
    i32 sum[4];
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    RF_UNROLL
    for (u32 i = 0; i < 4; i++) c[i] = sum[i];
#else
    const u32 lane = threadIdx.x % 32, row = lane & ~3u, column = lane % 4 * 8;
    RF_UNROLL
    for (u32 part = 0; part < 4; part++) {
        const u64 rows[2] = {__shfl_sync(0xffffffff, join(a[0], a[1]), (int)(row + part)),
                             __shfl_sync(0xffffffff, join(a[2], a[3]), (int)(row + part))};
        RF_UNROLL
        for (u32 e = 0; e < 2; e++) {
            const u64 factors = __shfl_sync(0xffffffff, join(b[0], b[1]), (int)(column + 4 * e + part));
            RF_UNROLL
            for (u32 k = 0; k < 2; k++) {
                c[e] = dot_bytes((u32)rows[k], (u32)(factors >> 32 * k), c[e]);
                c[2 + e] = dot_bytes((u32)(rows[k] >> 32), (u32)(factors >> 32 * k), c[2 + e]);
            }
        }
    }
#endif
}

}  // namespace rf
