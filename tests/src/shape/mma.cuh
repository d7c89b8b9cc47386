// Matrix products of 8-bit integers by a warp: PTX, and a twin from shuffles. Written as if it stood in word.cuh.
#pragma once
#include "word.cuh"

namespace rf {

// A 16 x 32 times B 32 x 8, spread over the 32 lanes of a warp. With row = lane / 4 and part = lane % 4 a lane holds
//   a[0 .. 3]  A[row, 4 part ..], A[row + 8, 4 part ..], A[row, 16 + 4 part ..], A[row + 8, 16 + 4 part ..]
//   b[0 .. 1]  B[4 part .., row], B[16 + 4 part .., row]
//   c[0 .. 3]  C[row, 2 part], C[row, 2 part + 1], C[row + 8, 2 part], C[row + 8, 2 part + 1]
// where a word is four signed bytes, least significant first, side by side in the direction that the dots name.
// in: any a, b, c; all lanes of the warp   out: c += A B mod 2^32
#if RF_PTX

RF_FN void mma_16x8x32(i32* c, const u32* a, const u32* b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#else

// out: c + the sum of the products of the four signed bytes, mod 2^32
RF_FN u32 dot_bytes(u32 a, u32 b, u32 c) {
    for (u32 i = 0; i < 32; i += 8) c += (u32)((i32)(signed char)(a >> i) * (i32)(signed char)(b >> i));
    return c;
}

RF_FN void mma_16x8x32(i32* c, const u32* a, const u32* b) {
    u32 lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
    for (u32 part = 0; part < 4; part++) {
        u32 rows[4];
        for (u32 i = 0; i < 4; i++) rows[i] = __shfl_sync(0xffffffff, a[i], row * 4 + part);
        for (u32 j = 0; j < 2; j++) {
            u32 low = __shfl_sync(0xffffffff, b[0], (column + j) * 4 + part);
            u32 high = __shfl_sync(0xffffffff, b[1], (column + j) * 4 + part);
            c[j] = (i32)dot_bytes(rows[0], low, dot_bytes(rows[2], high, (u32)c[j]));
            c[2 + j] = (i32)dot_bytes(rows[1], low, dot_bytes(rows[3], high, (u32)c[2 + j]));
        }
    }
}

#endif

}  // namespace rf
