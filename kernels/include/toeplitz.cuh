// Products of polynomials over the integers on tensor cores, one warp per product: one factor has coefficients of two
// signed-byte digits, the other of one.
//
// The small factor b is cut into 8 blocks of `block` coefficients, the columns of a matrix. The other factor a gives a
// Toeplitz matrix A[i][t] = a[i - t], of which only the polynomial itself is stored. Row i and column s of their
// product is the sum over t of a[i - t] b[block s + t], a part of coefficient i + block s.
//
// A word of A has four coefficients of falling index, and may start at any index. So a is stored backwards, in four
// copies that are shifted by one byte each: lanes whose rows differ by one read the same word of different copies.
#pragma once
#include "mma.cuh"

namespace rf {

// Products of two polynomials with N coefficients each.
template <u32 N>
struct Toeplitz {
    static constexpr u32 steps = (N + 255) / 256;                  // steps of 32 coefficients along a block
    static constexpr u32 block = 32 * steps;
    static constexpr u32 delay = block / 16;                       // row tiles (16 rows) from one column to the next
    static constexpr u32 turns = (N + block - 1 + block - 1) / block;
    static constexpr u32 tiles = turns * delay;                    // row tiles
    static constexpr u32 origin = 16 * tiles;                      // byte of a copy that has coefficient 0 of a
    static constexpr u32 words = (origin + block) / 4 + 1;         // words of a copy
    static constexpr u32 pitch = (words + 23) / 32 * 32 + 8;       // so that copies begin in different banks
    static constexpr u32 digits = 2;
    static constexpr u32 skew = 8;                                 // words between two blocks of sums, against bank conflicts
    static constexpr u32 sums = (tiles + delay + 6 * delay) * 16;  // coefficients of the product, then zeros
    static constexpr u32 sum_words = sums + sums / (2 * block) * skew + skew;
    static constexpr u32 copy_words = digits * 4 * pitch;          // words of all copies
    static_assert(pitch >= words && pitch % 32 == 8, "the stride of copies must be 8 banks");

    // Index in `sums` of the word that holds coefficient k of the product.
    RF_FN u32 place(u32 k) { return k + k / (2 * block) * skew; }

    // The words of the first copy that a lane computes, for both digits: lane w % 32 has word w.
    static constexpr u32 each = (pitch + 31) / 32;
    using Words = u32[each][digits];

    // in: get(c, low, high) gives both digits of coefficient c < N, each a signed byte   out: the lane's words
    template <class Get>
    RF_FN void digits_of(Words& words, u32 lane, Get get) {
        RF_UNROLL
        for (u32 i = 0; i < each; i++) {
            words[i][0] = words[i][1] = 0;
            RF_UNROLL
            for (u32 j = 0; j < 4; j++) {
                u32 c = origin - 4 * (lane + 32 * i) - j;  // wraps around, and is skipped, where it would be negative
                if (c >= N) continue;
                u32 low, high;
                get(c, low, high);
                words[i][0] |= (low & 0xff) << 8 * j;
                words[i][1] |= (high & 0xff) << 8 * j;
            }
        }
    }

    // Writes all copies, given the words of the first copy. All lanes must call it, and must meet before `multiply`.
    RF_FN void store(u32* copies, const Words& words, u32 lane) {
        RF_UNROLL
        for (u32 i = 0; i < each; i++) {
            RF_UNROLL
            for (u32 d = 0; d < digits; d++) {
                // the previous word, from the lane below; for lane 0 it is lane 31's word of the previous i
                u32 last = i == 0 ? 0 : words[i == 0 ? 0 : i - 1][d];
                u32 before = __shfl_sync(0xffffffff, lane == 31 ? last : words[i][d], (int)((lane + 31) % 32));
                u64 pair = join(before, words[i][d]);
                u32 w = lane + 32 * i;
                if (pitch % 32 != 0 && w >= pitch) continue;
                RF_UNROLL
                for (u32 m = 0; m < 4; m++) copies[(4 * d + m) * pitch + w] = (u32)(pair >> (32 - 8 * m));
            }
        }
    }

    // Writes all copies as `store` does, given all words of the first copy in memory, those of digit 0 before those of
    // digit 1. `threads` threads must call it, and must meet afterwards.
    RF_FN void store_from(u32* copies, const u32* words, u32 thread, u32 threads) {
        RF_LOOP
        for (u32 w = thread; w < digits * pitch; w += threads) {
            u64 pair = join(w % pitch == 0 ? 0 : words[w - 1], words[w]);
            u32* copy = copies + w / pitch * 4 * pitch + w % pitch;
            RF_UNROLL
            for (u32 m = 0; m < 4; m++) copy[m * pitch] = (u32)(pair >> (32 - 8 * m));
        }
    }

    // Index in b of a lane's word k, in words of four coefficients.
    RF_FN u32 word_of_block(u32 lane, u32 k) { return (lane / 4 * block + 16 * k) / 4 + lane % 4; }

    // Loads a lane's fragments of b.   in: get(c), c < N: coefficient c, a signed byte
    template <class Get>
    RF_FN void load(u32 (&b)[2 * steps], u32 lane, Get get) {
        RF_UNROLL
        for (u32 k = 0; k < 2 * steps; k++) {
            b[k] = 0;
            RF_UNROLL
            for (u32 j = 0; j < 4; j++) {
                u32 c = 4 * word_of_block(lane, k) + j;
                if (c < N) b[k] |= ((u32)get(c) & 0xff) << 8 * j;
            }
        }
    }

    // Writes the product to `sums`: coefficient k is at place(k).   in: copies of a with a = 2^Bits high + low
    // All lanes must call it; they meet at its end. They must also have met since `sums` was last read and `copies` was
    // written.
    //
    // Two tiles later, step k + 1 uses the fragment of A that step k uses now, so a tile loads only one new fragment of
    // each digit. A loop body has `delay` tiles, so that fragments and sums stay in the same registers. Tiles are
    // processed in pairs, and the two digits have separate sums, so that four independent chains of products overlap.
    template <u32 Bits>
    RF_FN void multiply(const u32* copies, const u32 (&b)[2 * steps], i32* sums, u32 lane) {
        static_assert(delay % 2 == 0 && sum_words % 4 == 0, "delay must be even, and sum_words a multiple of 4");
        for (u32 i = lane; i < sum_words / 4; i += 32) ((u32x4*)sums)[i] = u32x4{0, 0, 0, 0};
        order_lanes();
        const u32 g = lane / 4, t = lane % 4;
        const u32* from = copies + (g % 4) * pitch + (origin - (g & ~3u)) / 4 + t;
        i32* to = sums + g + t * (2 * block + skew);  // start of column 2 t
        u32 window[digits][2][steps][4] = {};         // for even and odd tiles; zero before coefficient 0
        i32 held[delay][2] = {};                      // sums of columns 2 t + 1, until their rows are reached
        RF_LOOP
        for (u32 turn = 0; turn < turns; turn++) {
            RF_UNROLL
            for (u32 pair = 0; pair < delay; pair += 2) {
                i32 sum[2][digits][4] = {};
                RF_UNROLL
                for (u32 r = pair; r < pair + 2; r++) {
                    RF_UNROLL
                    for (u32 d = 0; d < digits; d++) {
                        const u32* at = from + d * 4 * pitch - 4 * r;
                        RF_UNROLL
                        for (u32 i = 0; i < 4; i++)
                            window[d][r % 2][slot(0, r)][i] = at[(i32)(i / 2 * 4) - (i32)(i % 2 * 2)];
                    }
                }
                RF_UNROLL
                for (u32 k = 0; k < steps; k++) {
                    u32 factor[2] = {b[2 * k], b[2 * k + 1]};
                    RF_UNROLL
                    for (u32 r = pair; r < pair + 2; r++) {
                        RF_UNROLL
                        for (u32 d = 0; d < digits; d++) mma_bytes(sum[r % 2][d], window[d][r % 2][slot(k, r)], factor);
                    }
                }
                RF_UNROLL
                for (u32 r = pair; r < pair + 2; r++) {
                    RF_UNROLL
                    for (u32 h = 0; h < 2; h++) {
                        auto whole = [&](u32 i) { return sum[r % 2][1][i] * (1 << Bits) + sum[r % 2][0][i]; };
                        atomicAdd(to + 16 * r + 8 * h, whole(2 * h) + held[r][h]);
                        held[r][h] = whole(2 * h + 1);
                    }
                }
            }
            from -= 4 * delay;
            to += block + turn % 2 * skew;
        }
        RF_UNROLL
        for (u32 r = 0; r < delay; r++) {
            RF_UNROLL
            for (u32 h = 0; h < 2; h++) atomicAdd(to + 16 * r + 8 * h, held[r][h]);
        }
        __syncwarp();
    }

   private:
    // Index in the window of the fragment that step k uses in tile r.
    RF_CONST u32 slot(u32 k, u32 r) { return (k + delay - r / 2) % steps; }
};

}  // namespace rf
