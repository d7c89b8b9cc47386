// The message representative mu of FIPS 204: the hash of tr and a message, which has any length up to its slot. A slot is
// the length in bytes, a word of 64 bits, and then the message, with zeros after its end. One thread per item.
#include "keccak.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mldsa_message(const u64* tr, const u64* slots, u64* mu, u64 first, u64 end) {
    const u64 item = item_of_thread(first);
    if (item >= end) return;
    const u64 *hash = tr + (Task::one_key ? 0 : item * 8), *words = slots + item * Task::slot_words;
    Shake256 shake;
    // a length beyond the slot would read other items; the host never writes one
    const u32 length = min_word((u32)words[0], 8 * Task::slot_words - 8);
    shake.absorb(64 + length, [&](u32 i) { return i < 8 ? hash[i] : words[i - 7]; });
    shake.squeeze<8>([&](u32 i, u64 word) { mu[item * 8 + i] = word; });
}
