// The fractions of lookups in the rows of a trace, and their sums. A block has `rows` rows. A thread shares one inversion
// among some denominators of a row (Montgomery, 1987).
#include "prelude.cuh"

RF_FN E of_column(const Word* own, u64 column, u64 log_n) {
    E x;
    RF_UNROLL
    for (u32 d = 0; d < E_DEGREE; d++) x.c[d] = own[(column * E_DEGREE + d) << log_n];
    return x;
}

RF_FN void to_column(Word* own, u64 column, u64 log_n, const E& x) {
    RF_UNROLL
    for (u32 d = 0; d < E_DEGREE; d++) own[(column * E_DEGREE + d) << log_n] = x.c[d];
}

// out: the denominator of a lookup, 1 for 0
RF_FN E denominator(const Word* own, u64 lookup, u64 log_n) {
    E x = of_column(own, 2 * lookup + 1, log_n);
    Word any = 0;
    RF_UNROLL
    for (u32 d = 0; d < E_DEGREE; d++) any |= x.c[d];
    if (any == 0) x.c[0] = F::one();
    return x;
}

// terms: for each lookup, D columns of numerators and D of denominators. columns: the sums of fractions, D columns, then D
// for each lookup. totals: for each of the D columns of sums, the sum over a block's rows
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_fractions(const Word* terms, Word* columns, Word* totals, u64 log_n, u64 lookups, u64 chunks, u64 first, u64) {
    constexpr u32 threads = Task::threads, most = Task::most, warps = threads / 32;
    RF_SHARED(shared);
    Word* of_warps = (Word*)shared;
    const u64 item = first + blockIdx.x / (u32)chunks, chunk = blockIdx.x % (u32)chunks, n = 1ull << log_n;
    const u64 begin = chunk * Task::rows, end = begin + Task::rows < n ? begin + Task::rows : n;
    E total = E::zero();
    RF_LOOP
    for (u64 r = begin + threadIdx.x; r < end; r += threads) {
        const Word* from = terms + (item * 2 * lookups * E_DEGREE << log_n) + r;
        Word* to = columns + (item * (lookups + 1) * E_DEGREE << log_n) + r;
        E sum = E::zero();
        RF_LOOP
        for (u64 group = 0; group < lookups; group += most) {
            E before[most], product = E::of(F::one());
            RF_LOOP
            for (u32 i = 0; i < most && group + i < lookups; i++) {
                before[i] = product;
                product = product.mul(denominator(from, group + i, log_n));
            }
            E inverse = product.inverse();
            RF_LOOP
            for (u32 i = most; i-- > 0;) {
                if (group + i >= lookups) continue;
                const E own = inverse.mul(before[i]).mul(of_column(from, 2 * (group + i), log_n));
                inverse = inverse.mul(denominator(from, group + i, log_n));
                to_column(to, 1 + group + i, log_n, own);
                sum = sum.add(own);
            }
        }
        to_column(to, 0, log_n, sum);
        total = total.add(sum);
    }
    RF_UNROLL
    for (u32 d = 0; d < E_DEGREE; d++) {
        Word x = total.c[d];
        RF_UNROLL
        for (u32 by = 16; by > 0; by /= 2) x = F::add(x, __shfl_xor_sync(0xffffffff, x, (int)by));
        if (threadIdx.x % 32 == 0) of_warps[d * warps + threadIdx.x / 32] = x;
    }
    __syncthreads();
    if (threadIdx.x >= E_DEGREE) return;
    Word all = 0;
    RF_LOOP
    for (u32 w = 0; w < warps; w++) all = F::add(all, of_warps[threadIdx.x * warps + w]);
    totals[(item * E_DEGREE + threadIdx.x) * chunks + chunk] = all;
}
