// The function that FRI tests: for each row, (Y - R) / (z - x) + (Y' - a^width T) / (z' - x). T is the combination of the
// trace's columns, and R that of the trace's and the quotient's.
#include "prelude.cuh"

// powers: for each column of the trace, then of the quotient, its power of a. constants: Y, Y' and a^width. here, next:
// 1 / (z - x) and 1 / (z' - x)
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_reduced(const Word* trace, const Word* quotient, const Word* powers, const Word* constants, const Word* here,
                  const Word* next, Word* reduced, u64 rows, u64 columns, u64 of_quotient, u64 to_row, u64 to_column,
                  u64 quotient_to_column, u64 grid, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)grid;
    const u64 r = (u64)(blockIdx.x % (u32)grid) * Task::threads + threadIdx.x;
    if (r >= rows) return;
    E of_trace = E::zero(), all = E::zero();
    RF_LOOP
    for (u64 c = 0; c < columns; c++)
        of_trace = of_trace.add(E::load(powers + c * E_DEGREE).times(trace[r * to_row + c * to_column]));
    RF_LOOP
    for (u64 c = 0; c < of_quotient; c++)
        all = all.add(E::load(powers + (columns + c) * E_DEGREE).times(quotient[r + c * quotient_to_column]));
    E sum = E::load(constants).sub(all.add(of_trace)).mul(E::load(here + r * E_DEGREE));
    if (Task::next) {
        const E other = E::load(constants + E_DEGREE).sub(E::load(constants + 2 * E_DEGREE).mul(of_trace));
        sum = sum.add(other.mul(E::load(next + r * E_DEGREE)));
    }
    sum.store(reduced + (item * rows + r) * E_DEGREE);
}
