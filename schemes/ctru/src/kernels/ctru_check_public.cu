// Checks that the evaluations in imported public keys are below q: one thread per item. The reads are not coalesced.
#include "prelude.cuh"

#include "ctru_check.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::item_threads)
    ctru_check_public(const u32* keys, u32* status, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item < end) status[item] = check_public(keys + item * (Set::public_key / 4));
}
