// ExpandS of FIPS 204: samples the secret vectors s1 and s2 from their seed, one thread per polynomial. Half a byte of
// SHAKE-256 is accepted below 15 (eta = 2) or 9 (eta = 4). A coefficient s is stored as the byte eta - s.
#include "keccak.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
#include "rejection.cuh"
using namespace rf;

constexpr u32 items = Task::threads / polynomials, most = Set::eta == 2 ? 15 : 9;

extern "C" __global__ void __launch_bounds__(Task::threads)
    mldsa_secrets(const u64* seeds, u8* small, u64 first, u64 end) {
    RF_SHARED(shared);
    const u64 block_item = first + (u64)blockIdx.x * items, item = block_item + threadIdx.x / polynomials;
    const bool live = threadIdx.x < items * polynomials && item < end;
    const u64* seed = seeds + (live ? item : first) * 8;
    const u32 number = threadIdx.x % polynomials;
    Shake256 xof;
    xof.absorb<66>([&](u32 i) { return i < 8 ? seed[i] : (u64)number; });
    sample_by_rejection<256>(shared, Task::pitch, live, small + block_item * polynomials * 256, [&](u8* numbers) {
        keccak_f(xof.state);
        u32 kept = 0;
        RF_UNROLL
        for (u32 c = 0; c < 272; c++) {
            const u32 half = (u32)(xof.state[c / 16] >> 4 * (c % 16)) & 15;
            // the remainder modulo 5 if eta = 2: 52 / 256 is a fifth, rounded up
            numbers[kept] = (u8)(Set::eta == 2 ? half - (half * 52 >> 8) * 5 : half);
            kept += half < most;
        }
        return kept;
    });
}
