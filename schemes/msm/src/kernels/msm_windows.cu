// The weighted sums of the rows and of the columns of each window: one block for each of both. The sum of a window is
// 2^columns (sum of i R_i) + sum of (k + 1) C_k for its rows R_i and columns C_k.
//
// Each thread first sums points of one line (a row or a column), or lines of its own. Then the threads' sums are added in
// pairs. After l steps, a pair (S, W) stands for 2^l lines L_0, L_1, ...: S is 2^l times their sum, and W is the sum of i L_i
// for rows and of (i + 1) L_i for columns. Two neighbours become S = 2 (S_0 + S_1) and W = W_0 + W_1 + S_1. Half of the warps
// compute S, and the others compute W.
#include "by_four.cuh"
#include "msm.cuh"
using namespace msm;

// The lines of a part of a window, each with 2^log_points points among the sums that msm_fold left.
struct Lines {
    const Affine* sums;
    u32 log_lines, log_points, line_step, point_step;

    RF_METHOD Lines(const Affine* sums, u32 width, u32 folds, u32 of_columns) : sums(sums) {
        const u32 columns = (width - 1) / 2, most = of_columns ? width - 2 - columns : columns - 1;
        const u32 folded = min_word(folds, most);
        log_lines = of_columns ? columns : width - 1 - columns, log_points = most - folded;
        line_step = of_columns ? 0 : columns - 1, point_step = of_columns ? columns : folded;
    }
    RF_METHOD const Affine* point(u32 line, u32 i) const { return sums + ((u64)line << line_step) + ((u64)i << point_step); }
};

// status: 1, or 2 + i for the first scalar i that is not reduced
extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_windows(const Affine* sums, const u32* refused, Sum* totals, u32* status, u64 count, u64 width, u64 windows,
                u64 folds, u64 refused_words, u64 first, u64) {
    constexpr u32 half = Task::threads / 2, log_threads = Task::log_threads;
    RF_SHARED(shared);
    Sum *plain = (Sum*)shared, *weighted = plain + Task::threads;
    const Place place(first, 2 * windows);
    const u32 of_columns = place.block % 2, all = 1u << (width - 1);
    const Affine* own = sums + (place.item * windows + place.block / 2) * all + (of_columns ? all / 2 : 0);
    const Lines lines(own, (u32)width, (u32)folds, of_columns);
    // each thread has 2^log_share lines, or 2^log_sharing threads have a line
    const u32 log_share = lines.log_lines > log_threads ? lines.log_lines - log_threads : 0;
    const u32 log_sharing = lines.log_lines < log_threads ? log_threads - lines.log_lines : 0;
    const u32 from = threadIdx.x >> log_sharing << log_share, part = threadIdx.x & ((1u << log_sharing) - 1);
    Sum run = xyzz_infinity<F>(), sum = run;
    RF_LOOP
    for (u32 i = 1u << log_share; i-- > 0;) {
        if (!of_columns) add_to(&sum, &run);
        RF_LOOP
        for (u32 k = part; k >> lines.log_points == 0; k += 1u << log_sharing) {
            const Affine next = *lines.point(from + i, k);
            add_point_to(&run, &next);
        }
        if (of_columns) add_to(&sum, &run);
    }
    for (u32 i = 0; i < log_share; i++) double_it(&run);
    plain[threadIdx.x] = run, weighted[threadIdx.x] = sum;
    __syncthreads();

    const u32 of_weighted = threadIdx.x / half, number = threadIdx.x % half / 4;
    Sum* at = of_weighted ? weighted : plain;
    const Four four = {(Word*)(weighted + Task::threads) + threadIdx.x / 4 * 8, threadIdx.x % 4};
    RF_LOOP
    for (u32 step = 0; step < log_threads; step++) {
        const u32 pairs = Task::threads >> (step + 1);
        RF_LOOP
        for (u32 pair = number; pair - number % 8 < pairs; pair += half / 4) {
            const u32 left = min_word(pair, pairs - 1) << (step + 1), right = left + (1u << step);
            Word sum = add_by_four(four, at + left, at + right);
            __syncwarp();
            if (pair < pairs) (&at[left].x)[four.lane] = sum;
            if (step < log_sharing) continue;
            __syncwarp();
            sum = of_weighted ? add_by_four(four, at + left, plain + right) : double_by_four(four, at + left);
            __syncwarp();
            if (pair < pairs) (&at[left].x)[four.lane] = sum;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) totals[place.item * 2 * windows + place.block] = weighted[0];
    if (place.block != 0 || threadIdx.x >= 32) return;
    u32 worst = 0;
    for (u64 i = threadIdx.x; i < refused_words; i += 32) {
        const u32 here = refused[place.item * refused_words + i];
        worst = here > worst ? here : worst;
    }
    RF_UNROLL
    for (u32 by = 16; by > 0; by /= 2) {
        const u32 other = __shfl_xor_sync(0xffffffff, worst, (int)by);
        worst = other > worst ? other : worst;
    }
    if (threadIdx.x == 0) status[place.item] = worst == 0 ? 1 : 2 + ((u32)count - worst);
}
