// Last stage of signing: copies the signatures of items that are ok from their slots, and zeros for other items. An item is
// ok if its attempt succeeded and its signature was verified. One warp per item.
#include "kem_status.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Task::threads)
    mldsa_release(const u8* slots, const u32* attempted, const u32* verified, u8* signatures, u32* statuses, u64 first,
                  u64 end) {
    const u64 item = first + (u64)blockIdx.x * (Task::threads / 32) + threadIdx.x / 32;
    if (item >= end) return;
    const u32 status = attempted[item] == Status::ok ? verified[item] : attempted[item];
    RF_LOOP
    for (u32 byte = threadIdx.x % 32; byte < signature; byte += 32)
        signatures[item * signature + byte] = status == Status::ok ? slots[item * slot + byte] : 0;
    if (threadIdx.x % 32 == 0) statuses[item] = status;
}
