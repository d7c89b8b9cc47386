// The weighted sums of the rows and of the columns of each window: one block for each of both. The sum of a window is
// 2^columns (sum of i R_i) + sum of (k + 1) C_k for its rows R_i and columns C_k.
#include "msm.cuh"
using namespace msm;

struct CalledCurve {
    using F = Called<Curve::F>;
    static constexpr bool a_is_zero = Curve::a_is_zero;
    RF_METHOD static Word a() { return Curve::a(); }
};
using Sum = Xyzz<Word>;

RF_CALL void add_to(Sum* sum, const Sum* other) { *sum = add_xyzz<CalledCurve>(*sum, *other); }
RF_CALL void double_it(Sum* sum) { *sum = double_xyzz<CalledCurve>(*sum); }

// out: factor p
RF_FN Sum multiple(u32 factor, const Sum& p) {
    Sum r = xyzz_infinity<F>();
    RF_LOOP
    for (u32 bit = 32 - (u32)__clz((int)factor); bit-- > 0;) {
        double_it(&r);
        if (factor >> bit & 1) add_to(&r, &p);
    }
    return r;
}

// status: 1, or 2 + i for the first scalar i that is not reduced
extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_windows(const Affine* sums, const u32* refused, Sum* totals, u32* status, u64 count, u64 width, u64 windows,
                u64 refused_words, u64 first, u64) {
    RF_SHARED(shared);
    Sum* others = (Sum*)shared;
    const Place place(first, 2 * windows);
    const u32 window = place.block / 2, of_columns = place.block % 2;
    const u32 all = 1u << (width - 1), columns = ((u32)width - 1) / 2, bits = of_columns ? columns : (u32)width - 1 - columns;
    const Affine* own = sums + (place.item * windows + window) * all + (of_columns ? all / 2 : 0);
    const u32 shift = of_columns ? 0 : columns - 1, number = 1u << bits, share = (number + Task::threads - 1) / Task::threads;
    const u32 from = min_word(threadIdx.x * share, number), to = min_word(from + share, number);
    Sum run = xyzz_infinity<F>(), sum = run;
    RF_LOOP
    for (u32 i = to; i-- > from;) {
        add_to(&sum, &run);
        const Sum next = to_xyzz<F>(own[(u64)i << shift]);
        add_to(&run, &next);
    }
    run = multiple(from + of_columns, run);
    add_to(&sum, &run);
    RF_LOOP
    for (u32 half = Task::threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half && threadIdx.x < 2 * half) others[threadIdx.x - half] = sum;
        __syncthreads();
        if (threadIdx.x < half) add_to(&sum, others + threadIdx.x);
    }
    if (threadIdx.x == 0) totals[place.item * 2 * windows + place.block] = sum;
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
