// Checks imported secret keys and the public keys within them: one thread per item. The reads are not coalesced.
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
    status[item] = secret == Status::ok ? copy : secret;
}
