// The sum of constraints times their weights, for each row of the quotient's domain. The domain's rows are blocks of
// 2^log_n, each a coset of the trace's domain in bit-reversed order. A thread has one row or several.
#include "prelude.cuh"

// A row as the generated code reads it.
struct Row {
    const Word *main, *preprocessed, *publics, *weights, *periodic;
    const u64* code;
    Word* slots;
    u64 to_column, here, next, of_row, of_next_row, to_preprocessed, periods, instructions;
    Word first, last, transition;

    RF_METHOD Word of(u32 column) const { return main[here + column * to_column]; }
    RF_METHOD Word of_next(u32 column) const { return main[next + column * to_column]; }
    RF_METHOD Word of_preprocessed(u32 column) const { return preprocessed[of_row + column * to_preprocessed]; }
    RF_METHOD Word next_of_preprocessed(u32 column) const { return preprocessed[of_next_row + column * to_preprocessed]; }
    RF_METHOD Word of_periodic(u32 column) const { return periodic[column * periods]; }
};

// blocks: for each block, x^n - 1 for n = 2^log_n, and its inverse. points: as for `point_of`. inverses: 1 / (1 - x).
// periodic: of each periodic column, `periods` values in natural order. code: instructions, if constraints are
// interpreted; constants then follow the public values. sums: of each block, D columns.
extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    stark_constraints(const Word* main, const Word* preprocessed, const Word* publics, const Word* weights,
                      const Word* blocks, const Word* points, const Word* inverses, const Word* periodic, const u64* code,
                      Word* sums, u64 log_n, u64 bits, u64 to_row, u64 to_column, u64 to_preprocessed, u64 periods,
                      u64 instructions, u64 grid, u64 first, u64) {
    RF_SHARED(shared);
    constexpr u32 rows = Task::rows;
    const u64 item = first + blockIdx.x / (u32)grid;
    const u64 begin = (u64)(blockIdx.x % (u32)grid) * rows * blockDim.x + threadIdx.x;
    if (begin >> bits) return;
    const u64 n = 1ull << log_n;
    const u32 shift = 32 - (u32)log_n, log_chunks = (u32)(bits - log_n);
    Row row[rows];
    E sum[rows];
    u64 place[rows];
    RF_UNROLL
    for (u32 i = 0; i < rows; i++) {
        // a row that does not exist is computed as the first one, and not stored
        const u64 other = begin + i * blockDim.x, r = other >> bits ? begin : other;
        const u64 block = r >> log_n, t = r & (n - 1);
        const u64 natural = log_n == 0 ? 0 : __brev((u32)t) >> shift, after = (natural + 1) & (n - 1);
        const u64 next = (block << log_n) + (log_n == 0 ? 0 : __brev((u32)after) >> shift);
        const u64 chunk = log_chunks == 0 ? 0 : __brev((u32)block) >> (32 - log_chunks);
        const u64 period = ((natural << log_chunks) + chunk) & (periods - 1);
        Word* slots = (Word*)shared + i * blockDim.x + threadIdx.x;
        row[i] = Row{main,      preprocessed,  publics, weights, periodic + period, code,    slots,        to_column,
                     r * to_row, next * to_row, r,       next,    to_preprocessed,   periods, instructions, 0, 0, 0};
        const Word vanishing = blocks[2 * block];
        if (Task::first) row[i].first = F::mul(vanishing, F::sub(0, inverses[r * E_DEGREE]));
        if (Task::last) row[i].last = F::mul(F::mul(vanishing, points[2]), F::sub(0, inverses[next * E_DEGREE]));
        if (Task::transition) row[i].transition = F::sub(stark::point_of<F>(points, r, (u32)bits), points[1]);
        place[i] = (item << bits) * E_DEGREE + (block * E_DEGREE << log_n) + t;
        sum[i] = E::zero();
        if (Task::continues) {
            RF_UNROLL
            for (u32 d = 0; d < E_DEGREE; d++) sum[i].c[d] = sums[place[i] + ((u64)d << log_n)];
        }
    }
    Constraints::add(sum, row);
    RF_UNROLL
    for (u32 i = 0; i < rows; i++) {
        const u64 r = begin + i * blockDim.x;
        if (r >> bits) break;
        if (Task::ends) sum[i] = sum[i].times(blocks[2 * (r >> log_n) + 1]);
        RF_UNROLL
        for (u32 d = 0; d < E_DEGREE; d++) sums[place[i] + ((u64)d << log_n)] = sum[i].c[d];
    }
}
