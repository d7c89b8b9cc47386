// Checks of keys, one thread per item. Include it after the generated header prelude.cuh.
#pragma once
#include "kem_status.cuh"
#include "pack.cuh"

namespace rf {

// Checks that n packed numbers of Width bits are below `limit`. Returns the status `ok`, or the error code `reason`
// with the index of the first number that is not below `limit`. Timing and addresses do not depend on the numbers.
template <u32 Width>
RF_FN u32 check_numbers(const u32* words, u32 limit, u32 reason) {
    u32 first = ~0u;
    RF_LOOP
    for (u32 i = Set::n; i-- > 0;) first = unpack_one<Width>(words, i) >= limit ? i : first;
    return Status::at(reason, first, Set::n);
}

RF_FN u32 check_public(const u32* key) { return check_numbers<12>(key, Set::q, Status::invalid_public_key); }

}  // namespace rf
