// ExpandMask of FIPS 204: the packed masks of an attempt, from its seed rho'' and its number. One thread per polynomial.
#include "keccak.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

constexpr u32 items = Task::threads / Set::l;

extern "C" __global__ void __launch_bounds__(Task::threads)
    mldsa_mask(const u64* seeds, const u32* attempts, u64* masks, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * items + threadIdx.x / Set::l;
    if (threadIdx.x >= items * Set::l || item >= end) return;
    const u64* seed = seeds + item * 8;
    const u32 number = threadIdx.x % Set::l;
    u64* to = masks + (item * Set::l + number) * (mask_row / 8);
    Shake256 shake;
    shake.absorb<66>([&](u32 i) { return i < 8 ? seed[i] : (u64)(u16)(attempts[item] * Set::l + number); });
    shake.squeeze<mask_row / 8>([&](u32 i, u64 word) { to[i] = word; });
}
