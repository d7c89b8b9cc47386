// Last stage of signing: copies the signatures of ok items from their slots, and zeros for other items. One warp per
// item.
#include "kem_status.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Task::threads)
    mldsa_release(const u8* slots, const u32* statuses, u8* signatures, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * (Task::threads / 32) + threadIdx.x / 32;
    if (item >= end) return;
    const bool ok = statuses[item] == Status::ok;
    RF_LOOP
    for (u32 byte = threadIdx.x % 32; byte < signature; byte += 32)
        signatures[item * signature + byte] = ok ? slots[item * slot + byte] : 0;
}
