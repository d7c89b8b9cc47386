// Adds a matrix's part of the function that FRI tests: for each row, (Y - p) / (z - x) + (Y' - a p) / (z' - x), where p is
// the combination of the row's columns.
#include "prelude.cuh"

// powers: for each column, its power of the challenge. constants: Y, Y' and a. here, next: 1 / (z - x) and 1 / (z' - x)
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_reduced(const Word* matrix, const Word* powers, const Word* constants, const Word* here, const Word* next,
                  Word* reduced, u64 rows, u64 columns, u64 to_row, u64 to_column, u64 grid, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)grid;
    const u64 r = (u64)(blockIdx.x % (u32)grid) * Task::threads + threadIdx.x;
    if (r >= rows) return;
    E p = E::zero();
    RF_LOOP
    for (u64 c = 0; c < columns; c++)
        p = p.add(E::load(powers + c * E_DEGREE).times(matrix[r * to_row + c * to_column]));
    Word* own = reduced + (item * rows + r) * E_DEGREE;
    E sum = E::load(constants).sub(p).mul(E::load(here + r * E_DEGREE));
    if (Task::next) {
        const E other = E::load(constants + E_DEGREE).sub(E::load(constants + 2 * E_DEGREE).mul(p));
        sum = sum.add(other.mul(E::load(next + r * E_DEGREE)));
    }
    if (Task::continues) sum = sum.add(E::load(own));
    sum.store(own);
}
