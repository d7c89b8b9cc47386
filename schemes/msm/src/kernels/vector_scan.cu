// First-order recurrences: Horner's rule h_i = v_i + y h_(i + 1) with h_n = 0 and y = z^(2^log), or products
// h_i = v_i h_(i + 1) with h_n = 1. Task::forward reverses the order of the elements.
//
// A block computes a tile of elements at once, `elements` for each thread. A thread first computes its own part, as if
// nothing came after it. A scan over the threads (Kogge and Stone, 1973) then gives it the h that follows its part, and it
// computes the part again.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

using F = Field<Q>;
constexpr u32 threads = Task::threads, elements = Task::elements, tile = threads * elements;

RF_FN u256 before_all() { return Task::products ? F::one() : F::zero(); }
// out: h_i from h_(i + 1)
RF_FN u256 next(const u256& h, const u256& y, const u256& v) {
    return Task::products ? F::mul(h, v) : F::add(F::mul(h, y), v);
}

// points: z. carries: h at the first element of each tile. Each block computes one tile: its first h alone, as if
// nothing came after it (Task::heads); or all h of it, with the carry of the next tile. If there is one block per item
// (Task::alone), it computes all tiles, from the last to the first.
extern "C" __global__ void __launch_bounds__(threads)
    vector_scan(const u256* values, const u256* points, const u256* carries, u256* results, u64 count, u64 tiles, u64 log,
                u64 first, u64) {
    RF_SHARED(shared);
    u256 *sums = (u256*)shared, *powers = sums + threads;
    const u32 thread = threadIdx.x;
    const u64 item = first + (Task::alone ? blockIdx.x : blockIdx.x / (u32)tiles);
    const u256* own = values + item * count;
    u256* to = results + item * (Task::heads ? tiles : count);
    u256 y = F::one();
    if (!Task::products) {
        y = load_limbs(points + item);
        RF_LOOP
        for (u32 i = 0; i < log; i++) y = F::square(y);
    }
    if (!Task::products && thread == 0) {
        // y^(elements distance) for each distance of the scan
        u256 power = y;
        RF_LOOP
        for (u32 i = 1; i < elements; i *= 2) power = F::square(power);
        RF_LOOP
        for (u32 distance = 1, i = 0; distance < threads; distance *= 2, i++) {
            powers[i] = power;
            power = F::square(power);
        }
    }
    const auto place = [&](u64 i) { return Task::forward ? count - 1 - i : i; };
    u256 after = before_all();
    u32 at = Task::alone ? (u32)tiles : blockIdx.x % (u32)tiles + 1;
    RF_LOOP
    do {
        at--;
        if (!Task::alone && !Task::heads && at + 1 < tiles) after = load_limbs(carries + item * tiles + at + 1);
        const u64 begin = (u64)at * tile + thread * elements;
        u256 sum = thread + 1 == threads ? after : before_all();
        RF_LOOP
        for (u32 i = elements; i-- > 0;) sum = next(sum, y, begin + i < count ? load_limbs(own + place(begin + i)) : before_all());
        sums[thread] = sum;
        RF_LOOP
        for (u32 distance = 1, i = 0; distance < threads; distance *= 2, i++) {
            __syncthreads();
            if (thread + distance < threads) {
                const u256 other = sums[thread + distance];
                sum = Task::products ? F::mul(sum, other) : F::add(sum, F::mul(powers[i], other));
            }
            __syncthreads();
            sums[thread] = sum;
        }
        __syncthreads();
        if (Task::heads) {
            if (thread == 0) to[at] = sum;
        } else {
            u256 run = thread + 1 == threads ? after : sums[thread + 1];
            after = sums[0];
            RF_LOOP
            for (u32 i = elements; i-- > 0;) {
                if (begin + i >= count) continue;
                const u64 here = place(begin + i);
                run = next(run, y, load_limbs(own + here));
                to[here] = run;
            }
            __syncthreads();
        }
    } while (Task::alone && at > 0);
}
