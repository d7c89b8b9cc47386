// Secret keys, and the public keys within them, to statuses: a thread an item, done once for keys that come from outside.
// Floor: 1.7 KB, 24 us for 65 536 items of CTRU-768; its reads are not coalesced, nor has it been timed.
#include "prelude.cuh"

#include "ctru_check.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::item_threads)
    ctru_check_secret(const u32* keys, u32* status, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u32* key = keys + item * (Set::secret_key / 4);
    u32 secret = check_numbers<Set::secret_width>(key, 4 * Set::eta + 2, Status::invalid_secret_key);
    u32 copy = check_public(key + Set::n * Set::secret_width / 32);
    status[item] = secret == Status::fine ? copy : secret;
}
