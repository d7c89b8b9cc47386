// Products of the rows of a sparse matrix and a vector: one thread per part of a row.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

using F = Field<Q>;

// starts: for each part, its first term, and at the end the number of terms. terms: the column, and the number of the
// coefficient, where 0 is 1 and 1 is -1. coefficients, vector, sums: in Montgomery form.
extern "C" __global__ void __launch_bounds__(Task::threads)
    sparse_rows(const u32* starts, const u32x2* terms, const u256* coefficients, const u256* vector, u256* sums, u64 parts,
                u64 all, u64 columns, u64 count, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u32 part = blockIdx.x % (u32)blocks * Task::threads + threadIdx.x;
    if (part >= parts) return;
    const u32 end = min_word(starts[part + 1], (u32)all);
    u256 sum = F::zero();
    RF_LOOP
    for (u32 i = min_word(starts[part], end); i < end; i++) {
        const u32x2 term = terms[i];
        u256 x = load_limbs(vector + item * columns + min_word(term.x, (u32)columns - 1));
        if (term.y >= 2) x = F::mul(load_limbs(coefficients + min_word(term.y, (u32)count - 1)), x);
        sum = term.y == 1 ? F::sub(sum, x) : F::add(sum, x);
    }
    sums[item * parts + part] = sum;
}
