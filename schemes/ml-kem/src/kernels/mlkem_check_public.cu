// Modulus check of FIPS 203: finds the first coefficient of a public key that is not below q, one thread per item.
// Public keys are not secret, so the kernel may branch.
#include "prelude.cuh"

#include "kem_status.cuh"
#include "mlkem_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mlkem_check_public(const u32* keys, u32* status, u64 first, u64 end) {
    u64 item = item_of_thread(first);
    if (item >= end) return;
    const u32* key = keys + item * (public_key / 4);
    u32 bad = ~0u;
    // Three words hold eight coefficients. The loop goes from the last coefficient to the first, so the first bad one
    // remains.
    RF_LOOP
    for (u32 unit = vector_bytes_12 / 12; unit > 0; unit--) {
        const u32* words = key + (unit - 1) * 3;
        u64 low_half = join(words[0], words[1]), high_half = join(words[1], words[2]);
        RF_UNROLL
        for (u32 i = 8; i > 0; i--) {
            u32 c = i - 1, value = (u32)(c < 4 ? low_half >> 12 * c : high_half >> (12 * c - 32)) & 0xfff;
            if (value >= q) bad = (unit - 1) * 8 + c;
        }
    }
    status[item] = Status::at(Status::invalid_public_key, bad, 256 * Set::k);
}
