// SampleNTT of FIPS 203 (rejection sampling): samples the polynomials of the matrix from its public seed rho, one
// thread per polynomial. Squeezes blocks of SHAKE-128 until 256 numbers of 12 bits are below q.
//
// Three blocks usually suffice; one polynomial in 120 needs a fourth. Each thread stores every number in its own array
// in shared memory, but the index advances only past accepted numbers, so there is no branch within a block of
// SHAKE-128. The arrays have one extra word, so that threads in lockstep access different banks. A thread that has 256
// numbers keeps overwriting entry 256 of its array. Each warp then copies its arrays to device memory, coalesced.
#include "keccak.cuh"
#include "prelude.cuh"

#include "mlkem_set.cuh"
using namespace rf;

constexpr u32 entries = Set::k * Set::k, items = Task::threads / entries;

// out: row[0..256], evaluations in [0, q), and a meaningless row[256]
RF_FN void sample(const u64* rho, u32 entry, u16* row) {
    u32 i = entry / Set::k, j = entry % Set::k;
    u64 numbers = Task::transposed ? i | j << 8 : j | i << 8;
    Shake128 xof;
    xof.absorb<34>([&](u32 word) { return word < 4 ? rho[word] : numbers; });
    u32 kept = 0;
    while (kept < 256) {
        keccak_f(xof.state);
        RF_UNROLL
        for (u32 at = 0; at < 21; at += 3) {
            u32 words[7] = {low(xof.state[at]),      high(xof.state[at]),     low(xof.state[at + 1]), high(xof.state[at + 1]),
                            low(xof.state[at + 2]), high(xof.state[at + 2]), 0};
            RF_UNROLL
            for (u32 c = 0; c < 16; c++) {
                u32 value = (u32)(join(words[12 * c / 32], words[12 * c / 32 + 1]) >> 12 * c % 32) & 0xfff;
                row[kept] = (u16)value;
                kept = min_word(kept + (value < q), 256);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(Task::threads)
    mlkem_matrix(const u64* rho, u32x2* matrix, u64 first, u64 end) {
    RF_SHARED(shared);
    const u64 block_item = first + (u64)blockIdx.x * items, item = block_item + threadIdx.x / entries;
    if (threadIdx.x < items * entries && item < end)
        sample(rho + item * 4, threadIdx.x % entries, (u16*)(shared + threadIdx.x * Task::pitch));
    __syncwarp();

    const u32 warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
    const u32 rows = (end - block_item < items ? (u32)(end - block_item) : items) * entries;
    RF_LOOP
    for (u32 row = warp; row < rows && row < warp + 32; row++) {
        const u32* from = (const u32*)(shared + row * Task::pitch);
        u32x2* to = matrix + (block_item * entries + row) * 64;
        RF_UNROLL
        for (u32 c = lane; c < 64; c += 32) to[c] = {from[2 * c], from[2 * c + 1]};
    }
}
