// Decoding, first kernel: pairs of centred integers as doubles, divided by the scale and twisted. One thread per element.
#include "prelude.cuh"

#include "ckks_embedding.cuh"
#include "spread.cuh"
using namespace rf;

// in: an integer x in [0, Q) as words, least significant first; Q and floor(Q / 2) in the same form
// out: x, or x - Q if x > Q / 2, as a double: words are added in ascending order
RF_FN double centred(const u64* x, const u64* q, const u64* half, u32 words) {
    bool negative = false;
    for (u32 i = 0; i < words; i++) negative = x[i] > half[i] || (x[i] == half[i] && negative);
    double sum = 0, power = 1;
    u64 borrow = 0;
    for (u32 i = 0; i < words; i++) {
        const u64 opposite = q[i] - x[i], word = negative ? opposite - borrow : x[i];
        borrow = q[i] < x[i] || opposite < borrow;
        sum = __dadd_rn(sum, __dmul_rn((double)word, power));
        power = __dmul_rn(power, 18446744073709551616.0);
    }
    return negative ? -sum : sum;
}

// scale: one double. moduli: the words of Q, then those of floor(Q / 2)
extern "C" __global__ void __launch_bounds__(Task::threads)
    ckks_integers_to_elements(const u64* integers, const double* scale, Complex* elements, const Complex* roots,
                              const u64* moduli, u64 word_count, u64 first, u64 end) {
    const Units<Task::threads> at(first, end, Task::slots);
    if (!at.live) return;
    const u32 words = (u32)word_count;
    const u64 *half = moduli + words, *from = integers + (at.item * (2 * Task::slots) + at.unit) * words;
    const double re = centred(from, moduli, half, words) / *scale;
    const double im = centred(from + (u64)Task::slots * words, moduli, half, words) / *scale;
    elements[at.item * Task::slots + at.unit] = mul(Complex{re, im}, roots[Task::slots + at.unit]);
}
