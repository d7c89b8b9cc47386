// Checks the packed coefficients of f in imported secret keys: one thread per item.
#include "prelude.cuh"

#include "ctru_prime_fields.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    ctru_prime_check_secret(const u8* keys, u32* status, u64 first, u64 end) {
    u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u8* key = keys + item * Set::secret_key;
    u32 bad = Set::n + 1;
    RF_LOOP
    for (u32 i = 0; i < Set::pke_key; i++) {
        u32 both = min_word(bad_place(key[i] & 15, 2 * i), bad_place(key[i] >> 4, 2 * i + 1));
        bad = min_word(bad, both);
    }
    status[item] = status_of(bad, Status::ok);
}
