// Horner's rule for all coefficients: h_i = p_i + y h_(i + 1), with h_n = 0 and y = z^(2^log).
//
// A block computes a tile of coefficients at once, `elements` for each thread. A thread first computes its own part, as if
// nothing came after it. A scan over the threads (Kogge and Stone, 1973) then gives it the h that follows its part, and it
// computes the part again.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

using F = Field<Q>;
constexpr u32 threads = Task::threads, elements = Task::elements, tile = threads * elements;

// points: z. carries: h at the first coefficient of each tile. Each block computes one tile: its first h alone, as if
// nothing came after it (Task::heads); or all h of it, with the carry of the next tile. If there is one block per item
// (Task::alone), it computes all tiles, from the last to the first.
extern "C" __global__ void __launch_bounds__(threads)
    horner(const u256* coefficients, const u256* points, const u256* carries, u256* results, u64 count, u64 tiles, u64 log,
           u64 first, u64) {
    RF_SHARED(shared);
    u256* sums = (u256*)shared;
    const u32 thread = threadIdx.x;
    const u64 item = first + (Task::alone ? blockIdx.x : blockIdx.x / (u32)tiles);
    const u256* own = coefficients + item * count;
    u256* to = results + item * (Task::heads ? tiles : count);
    u256 y = load_limbs(points + item);
    RF_LOOP
    for (u32 i = 0; i < log; i++) y = F::square(y);
    u256 after = F::zero();
    u32 at = Task::alone ? (u32)tiles : blockIdx.x % (u32)tiles + 1;
    RF_LOOP
    do {
        at--;
        if (!Task::alone && !Task::heads && at + 1 < tiles) after = load_limbs(carries + item * tiles + at + 1);
        const u64 begin = (u64)at * tile + thread * elements;
        u256 sum = thread + 1 == threads ? after : F::zero(), power = y;
        RF_LOOP
        for (u32 i = elements; i-- > 0;) {
            sum = F::mul(sum, y);
            if (begin + i < count) sum = F::add(sum, load_limbs(own + begin + i));
        }
        RF_LOOP
        for (u32 i = 1; i < elements; i *= 2) power = F::square(power);
        sums[thread] = sum;
        RF_LOOP
        for (u32 distance = 1; distance < threads; distance *= 2) {
            __syncthreads();
            if (thread + distance < threads) sum = F::add(sum, F::mul(power, sums[thread + distance]));
            __syncthreads();
            sums[thread] = sum;
            power = F::square(power);
        }
        __syncthreads();
        if (Task::heads) {
            if (thread == 0) to[at] = sum;
        } else {
            u256 run = thread + 1 == threads ? after : sums[thread + 1];
            after = sums[0];
            RF_LOOP
            for (u32 i = elements; i-- > 0;) {
                run = F::mul(run, y);
                if (begin + i < count) {
                    run = F::add(run, load_limbs(own + begin + i));
                    to[begin + i] = run;
                }
            }
            __syncthreads();
        }
    } while (Task::alone && at > 0);
}
