// Some rows of a matrix, each of them an item, as their numbers say: those beyond the last begin with the first again.
#include "prelude.cuh"
using rf::u32;
using rf::u64;

extern "C" __global__ void __launch_bounds__(Shape::threads)
    gather(const Shape::Word* from, const u64* numbers, Shape::Word* to, u64 first, u64) {
    const u64 item = first + blockIdx.x, row = numbers[item] % Shape::rows;
    RF_LOOP
    for (u32 column = threadIdx.x; column < Shape::columns; column += Shape::threads) {
        to[item * Shape::columns + column] = from[row * Shape::from_row_to_row + column * Shape::from_column_to_column];
    }
}
