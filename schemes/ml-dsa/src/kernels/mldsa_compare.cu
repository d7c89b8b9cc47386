// Last stage of verification: compares the signature's challenge with the hash of mu and the reconstructed high bits. One
// thread per item.
#include "kem_status.cuh"
#include "keccak.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mldsa_compare(const u64* mu, const u64* high, const u32* slots, u32* statuses, u64 first, u64 end) {
    const u64 item = item_of_thread(first);
    if (item >= end || statuses[item] != Status::half_done) return;
    mu += item * 8, high += item * (Set::k * high_row / 8), slots += item * (slot / 4);
    Shake256 shake;
    shake.absorb<64 + Set::k * high_row>([&](u32 i) { return i < 8 ? mu[i] : high[i - 8]; });
    u64 difference = 0;
    shake.squeeze<Set::challenge / 8>([&](u32 i, u64 word) { difference |= word ^ join(slots[2 * i], slots[2 * i + 1]); });
    statuses[item] = difference ? Task::invalid : Status::ok;
}
