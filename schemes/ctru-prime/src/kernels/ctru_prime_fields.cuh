// Validation of the packed coefficients of secret keys. Include it after the prelude.
#pragma once
#include "kem_status.cuh"

namespace rf {

// in: the field at a place of a packed f   out: the place if key generation never produces the field, else n + 1
//
// As packed, the first field is even, the others are odd, none is too large, and the padding at place n is zero.
RF_FN u32 bad_place(u32 field, u32 place) {
    u32 odd = place == 0 || place == Set::n ? 0 : 1, most = place == Set::n ? 0 : 4 * Set::eta + odd;
    return select((field ^ odd) & 1 | most - field >> 31, place, Set::n + 1);
}

// in: the first bad place   out: the item's status, which is `none` if there is no such place
RF_FN u32 status_of(u32 bad, u32 none) { return Status::at(Status::invalid_secret_key, bad, Set::n + 1, none); }

}  // namespace rf
