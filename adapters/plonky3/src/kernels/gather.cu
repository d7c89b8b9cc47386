// Gathers rows of a matrix. An item is one row and has its own thread block. Row indices are taken modulo the number
// of rows.
#include "prelude.cuh"
using rf::u64;

extern "C" __global__ void
    gather(const Word* from, const u64* numbers, Word* to, u64 rows, u64 columns, u64 to_row, u64 to_column, u64 first, u64) {
    const u64 item = first + blockIdx.x, row = numbers[item] % rows;
    RF_LOOP
    for (u64 column = threadIdx.x; column < columns; column += blockDim.x) {
        to[item * columns + column] = from[row * to_row + column * to_column];
    }
}
