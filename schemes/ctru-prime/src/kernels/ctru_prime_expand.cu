// Expands seeds to the coins of f and g with SHAKE-256: one thread per item. Coins are the pseudorandom bytes from
// which polynomials are sampled. The coins of g start in the middle of a word of the hash output and are shifted to a
// word boundary.
#include "keccak.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    ctru_prime_expand(const u64* seeds, u64* coins, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    constexpr u32 words = Set::coins_pitch / 8, start = Set::coins / 8, shift = Set::coins % 8 * 8;
    static_assert(shift != 0, "the stream of g must not begin at a word boundary");
    const u64* seed = seeds + item * 8;  // 8 words: the seed d, then the rejection secret z
    u64 *f = coins + item * (2 * words), *g = f + words, before = 0;
    Shake256 shake;
    shake.absorb<32>([&](u32 i) { return seed[i]; });
    shake.squeeze<start + words + 1>([&](u32 i, u64 word) {
        if (i < words) f[i] = word;
        if (i > start) g[i - start - 1] = before >> shift | word << (64 - shift);
        before = word;
    });
}
