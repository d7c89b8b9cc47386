// Folds rows of 2^log_arity elements by a challenge b: halvings with b, b^2, b^4, … A function that joins is added, times the
// next power.
#include "prelude.cuh"

// challenges: b, b^2, b^4, … factors: for each bit of a pair's index, its factor of 1 / x
extern "C" __global__ void __launch_bounds__(Task::threads)
    stark_folded(const Word* elements, const Word* challenges, const Word* factors, const Word* joined, Word* folded,
                 u64 rows, u64 log_arity, u64 blocks, u64 first, u64) {
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u64 r = (u64)(blockIdx.x % (u32)blocks) * Task::threads + threadIdx.x;
    if (r >= rows) return;
    const Word* own = elements + ((item * rows + r) << log_arity) * E_DEGREE;
    E x[1 << Task::most];
    RF_UNROLL
    for (u32 i = 0; i < 1u << Task::most; i++)
        if (i < 1u << log_arity) x[i] = E::load(own + i * E_DEGREE);
    u32 width = 1u << log_arity;
    RF_UNROLL
    for (u32 round = 0; round < Task::most; round++) {
        if (round >= log_arity) break;
        const E challenge = E::load(challenges + round * E_DEGREE);
        width /= 2;
        RF_UNROLL
        for (u32 i = 0; i < 1u << Task::most >> 1; i++) {
            if (i >= width) break;
            const u64 pair = r * width + i;
            Word factor = F::half(F::one());
            RF_LOOP
            for (u32 bit = 0; pair >> bit; bit++)
                if (pair >> bit & 1) factor = F::mul(factor, factors[bit]);
            const E low = x[2 * i], high = x[2 * i + 1];
            x[i] = low.add(high).half().add(low.sub(high).mul(challenge).times(factor));
        }
    }
    const u64 place = (item * rows + r) * E_DEGREE;
    if (Task::joins) x[0] = x[0].add(E::load(joined + place).mul(E::load(challenges + log_arity * E_DEGREE)));
    x[0].store(folded + place);
}
