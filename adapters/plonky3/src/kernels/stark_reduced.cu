// The function that FRI tests: for each row, (Y - T - Q - P) / (z - x) + (Y' - a T - b P) / (z' - x). T, Q and P are the
// combinations of the columns of the trace, of the quotient and of the preprocessed ones.
#include "prelude.cuh"

// powers: for each column of the three matrices, one after another, its power of the challenge. constants: Y, Y', a and b.
// here, next: 1 / (z - x) and 1 / (z' - x)
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_reduced(const Word* trace, const Word* quotient, const Word* preprocessed, const Word* powers,
                  const Word* constants, const Word* here, const Word* next, Word* reduced, u64 rows, u64 columns,
                  u64 of_quotient, u64 of_preprocessed, u64 to_row, u64 to_column, u64 to_quotient, u64 to_preprocessed,
                  u64 grid, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)grid;
    const u64 r = (u64)(blockIdx.x % (u32)grid) * Task::threads + threadIdx.x;
    if (r >= rows) return;
    E t = E::zero(), q = E::zero(), p = E::zero();
    RF_LOOP
    for (u64 c = 0; c < columns; c++, powers += E_DEGREE)
        t = t.add(E::load(powers).times(trace[r * to_row + c * to_column]));
    RF_LOOP
    for (u64 c = 0; c < of_quotient; c++, powers += E_DEGREE)
        q = q.add(E::load(powers).times(quotient[r + c * to_quotient]));
    RF_LOOP
    for (u64 c = 0; c < of_preprocessed; c++, powers += E_DEGREE)
        p = p.add(E::load(powers).times(preprocessed[r + c * to_preprocessed]));
    E sum = E::load(constants).sub(t.add(q).add(p)).mul(E::load(here + r * E_DEGREE));
    if (Task::next) {
        const E of_t = E::load(constants + 2 * E_DEGREE).mul(t), of_p = E::load(constants + 3 * E_DEGREE).mul(p);
        const E other = E::load(constants + E_DEGREE).sub(of_t).sub(of_p);
        sum = sum.add(other.mul(E::load(next + r * E_DEGREE)));
    }
    sum.store(reduced + (item * rows + r) * E_DEGREE);
}
