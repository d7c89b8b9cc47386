// The status of an item of a key encapsulation mechanism: 0 if it is fine, else a reason and the coefficient it is about.
#pragma once
#include "word.cuh"

namespace rf {

struct Status {
    static constexpr u32 fine = 0, not_invertible = 1, invalid_public_key = 2, invalid_secret_key = 3, wrong_hash = 4;

    // in: a reason, the first coefficient of n that it is about, or any larger number   out: fine if there is none
    RF_FN u32 at(u32 reason, u32 first, u32 n) { return first < n ? reason | first << 8 : fine; }
};

}  // namespace rf
