// Second stage of verification: the challenge and the hints of a signature. HintBitUnpack of FIPS 204 refuses places
// that do not ascend, ends that do not, and bytes after the last place that are not 0. Signatures are public. One thread
// per item.
#include "kem_status.cuh"
#include "prelude.cuh"

#include "mldsa_hash.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Set::hash_threads)
    mldsa_decode(const u8* slots, u32* challenges, u32* hints, u32* statuses, u64 first, u64 end) {
    RF_SHARED(shared);
    const u64 item = item_of_thread(first);
    if (item >= end) return;
    const u8 *from = slots + item * slot, *places = from + signature_hints;
    sample_in_ball((const u32*)from, shared, challenges + item * challenge_words);
    u32 at = 0, bad = 0;
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        u32 stop = places[Set::omega + i], row[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        bad |= (u32)(stop < at) | (u32)(stop > Set::omega);
        stop = bad ? at : stop;
        RF_LOOP
        for (u32 before = 0, begin = at; at < stop; at++) {
            const u32 place = places[at];
            bad |= (u32)(at > begin) & (u32)(place <= before);
            before = place;
            RF_UNROLL
            for (u32 w = 0; w < 8; w++) row[w] |= (u32)(place / 32 == w) << place % 32;
        }
        RF_UNROLL
        for (u32 w = 0; w < 8; w++) hints[(item * Set::k + i) * 8 + w] = row[w];
    }
    for (; at < Set::omega; at++) bad |= places[at];
    statuses[item] = bad ? Task::invalid : Status::pending;
}
