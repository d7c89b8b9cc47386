// The function that FRI tests: for each row, (Y - p) / (z - x) + (Y' - p') / (z' - x).
#include "prelude.cuh"

// combined: D columns of p, and D of p' if there is a second point. constants: Y and Y'. here, next: 1 / (z - x) and
// 1 / (z' - x)
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_reduced(const Word* combined, const Word* constants, const Word* here, const Word* next, Word* reduced, u64 rows,
                  u64 grid, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)grid;
    const u64 r = (u64)(blockIdx.x % (u32)grid) * Task::threads + threadIdx.x;
    if (r >= rows) return;
    E p, other;
    RF_UNROLL
    for (u32 d = 0; d < E_DEGREE; d++) {
        p.c[d] = combined[d * rows + r];
        other.c[d] = Task::both ? combined[(E_DEGREE + d) * rows + r] : 0;
    }
    E sum = E::load(constants).sub(p).mul(E::load(here + r * E_DEGREE));
    if (Task::both) {
        const E at_next = E::load(constants + E_DEGREE).sub(other);
        sum = sum.add(at_next.mul(E::load(next + r * E_DEGREE)));
    }
    sum.store(reduced + (item * rows + r) * E_DEGREE);
}
