// Transposes a matrix of words through tiles of 32 by 32 words in shared memory. An item is a row of the transpose,
// which is a column of the matrix.
//
// Items beyond the number of columns wrap around to the first column. A group of 32 items has one thread block per tile
// of its 32 columns. A smaller group has proportionally fewer blocks, each of which loops over several tiles.
#include "prelude.cuh"
using rf::u32;
using rf::u64;

extern "C" __global__ void __launch_bounds__(threads)
    transpose(const Word* from, Word* to, u64 rows, u64 columns, u64 squares_of_item, u64 first, u64 end) {
    constexpr u32 side = 32, step = threads / side;
    const u32 squares = (u32)squares_of_item;
    RF_SHARED(shared);
    Word* square = (Word*)shared;  // rows are padded by one word against bank conflicts
    const u32 x = threadIdx.x % side, y = threadIdx.x / side;
    const u64 item = first + (u64)(blockIdx.x / squares) * side;
    const u32 left = end - item < side ? (u32)(end - item) : side;
    const u32 blocks = (u32)(((u64)left * squares + side - 1) / side);
    u64 column = item + x;
    if (column >= columns) column %= columns;
    RF_LOOP
    for (u32 number = blockIdx.x % squares; number < squares; number += blocks) {
        const u64 row = (u64)number * side;
        Word words[side / step] = {};  // all loads are issued before the first store
        RF_UNROLL
        for (u32 k = 0; k < side / step; ++k) {
            const u64 at = row + y + k * step;
            if (at < rows && x < left) words[k] = from[at * columns + column];
        }
        RF_UNROLL
        for (u32 k = 0; k < side / step; ++k) square[(y + k * step) * (side + 1) + x] = words[k];
        __syncthreads();
        RF_UNROLL
        for (u32 k = 0; k < side / step; ++k) {
            const u32 i = y + k * step;
            if (row + x < rows && i < left) to[(item + i) * rows + row + x] = square[x * (side + 1) + i];
        }
        __syncthreads();
    }
}
