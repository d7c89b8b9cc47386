// Adds the combination p of a row's columns to D columns, and a p to D more, which are for a second point.
#include "prelude.cuh"

// powers: for each column, its power of the challenge. factor: a
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_combined(const Word* matrix, const Word* powers, const Word* factor, Word* combined, u64 log_n, u64 columns,
                   u64 to_row, u64 to_column, u64 grid, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)grid;
    const u64 r = (u64)(blockIdx.x % (u32)grid) * Task::threads + threadIdx.x;
    if (r >> log_n) return;
    E p = E::zero(), other = E::zero();
    RF_LOOP
    for (u64 c = 0; c < columns; c++)
        p = p.add(E::load(powers + c * E_DEGREE).times(matrix[r * to_row + c * to_column]));
    if (Task::next) other = E::load(factor).mul(p);
    Word* own = combined + (item * (Task::both ? 2 * E_DEGREE : E_DEGREE) << log_n) + r;
    RF_UNROLL
    for (u32 d = 0; d < E_DEGREE; d++) {
        Word* to = own + ((u64)d << log_n);
        *to = Task::continues ? F::add(*to, p.c[d]) : p.c[d];
    }
    if (!Task::both || (Task::continues && !Task::next)) return;
    RF_UNROLL
    for (u32 d = 0; d < E_DEGREE; d++) {
        Word* to = own + ((u64)(E_DEGREE + d) << log_n);
        *to = Task::continues ? F::add(*to, other.c[d]) : other.c[d];
    }
}
