// The sum of constraints times their weights, for each row of blocks of 2^log_n rows. Each block is a coset of the trace's
// domain in bit-reversed order. Or a column for each constraint, over the rows of the trace itself. A thread has one row or
// several.
#include "prelude.cuh"

// A row as the generated code reads it. Matrices are the main columns, the preprocessed ones and those of the permutation.
struct Row {
    const Word* matrix[3];
    u64 to_column[3], here[3], next[3];
    const Word *publics, *weights, *periodic;
    const u64* code;
    Word *slots, *stored;
    u64 to_stored, periods, instructions;
    Word first, last, transition;

    template <u32 M>
    RF_METHOD Word of(u32 column) const { return matrix[M][here[M] + column * to_column[M]]; }
    template <u32 M>
    RF_METHOD Word of_next(u32 column) const { return matrix[M][next[M] + column * to_column[M]]; }
    RF_METHOD Word of_periodic(u32 column) const { return periodic[column * periods]; }
    RF_METHOD void store(u32 constraint, Word value) const { stored[constraint * to_stored] = value; }
};

// blocks: for each block, x^n - 1 for n = 2^log_n, and its inverse. points: as for `point_of`. inverses: 1 / (1 - x).
// periodic: of each periodic column, `periods` values in natural order. code: instructions, if constraints are
// interpreted; constants then follow the public values. sums: of each block, D columns, or a column for each constraint.
extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    stark_constraints(const Word* main, const Word* preprocessed, const Word* permutation, const Word* publics,
                      const Word* weights, const Word* blocks, const Word* points, const Word* inverses,
                      const Word* periodic, const u64* code, Word* sums, u64 log_n, u64 bits, u64 to_row, u64 to_column,
                      u64 to_preprocessed, u64 to_permutation, u64 periods, u64 instructions, u64 columns, u64 grid, u64 first,
                      u64) {
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
        const bool stays = Task::stores || log_n == 0;
        const u64 natural = stays ? t : __brev((u32)t) >> shift, after = (natural + 1) & (n - 1);
        const u64 next = (block << log_n) + (stays ? after : __brev((u32)after) >> shift);
        const u64 chunk = log_chunks == 0 ? 0 : __brev((u32)block) >> (32 - log_chunks);
        const u64 period = ((natural << log_chunks) + chunk) & (periods - 1);
        Word* slots = (Word*)shared + i * blockDim.x + threadIdx.x;
        row[i] = Row{{main, preprocessed, permutation},
                     {to_column, to_preprocessed, to_permutation},
                     {r * to_row, r, r},
                     {next * to_row, next, next},
                     publics,
                     weights,
                     periodic + period,
                     code,
                     slots,
                     sums + (item * columns << bits) + r,
                     1ull << bits,
                     periods,
                     instructions,
                     0,
                     0,
                     0};
        if (Task::stores) {
            row[i].first = t == 0 ? F::one() : 0, row[i].last = after == 0 ? F::one() : 0;
            row[i].transition = after == 0 ? 0 : F::one();
        } else {
            const Word vanishing = blocks[2 * block];
            if (Task::first) row[i].first = F::mul(vanishing, F::sub(0, inverses[r * E_DEGREE]));
            if (Task::last) row[i].last = F::mul(F::mul(vanishing, points[2]), F::sub(0, inverses[next * E_DEGREE]));
            if (Task::transition) row[i].transition = F::sub(stark::point_of<F>(points, r, (u32)bits), points[1]);
        }
        place[i] = (item << bits) * E_DEGREE + (block * E_DEGREE << log_n) + t;
        sum[i] = E::zero();
        if (Task::continues) {
            RF_UNROLL
            for (u32 d = 0; d < E_DEGREE; d++) sum[i].c[d] = sums[place[i] + ((u64)d << log_n)];
        }
    }
    Constraints::add(sum, row);
    if (Task::stores) return;
    RF_UNROLL
    for (u32 i = 0; i < rows; i++) {
        const u64 r = begin + i * blockDim.x;
        if (r >> bits) break;
        if (Task::ends) sum[i] = sum[i].times(blocks[2 * (r >> log_n) + 1]);
        RF_UNROLL
        for (u32 d = 0; d < E_DEGREE; d++) sums[place[i] + ((u64)d << log_n)] = sum[i].c[d];
    }
}
