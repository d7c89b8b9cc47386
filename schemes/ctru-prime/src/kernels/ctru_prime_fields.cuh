// Checks of the packed coefficients of secret keys. Include this header after the generated header prelude.cuh.
#pragma once
#include "kem_status.cuh"

namespace rf {

// Checks the 4-bit field at index `place` of a packed f. Returns `place` if key generation never produces the field,
// else n + 1.
//
// Valid fields are even at index 0, odd at other indices, at most 4 eta (+ 1 if odd), and zero in the padding, index n.
RF_FN u32 bad_place(u32 field, u32 place) {
    u32 odd = place == 0 || place == Set::n ? 0 : 1, most = place == Set::n ? 0 : 4 * Set::eta + odd;
    return select((field ^ odd) & 1 | most - field >> 31, place, Set::n + 1);
}

// Returns an item's status for the index of the first invalid field: an error, or `none` if there is no such field.
RF_FN u32 status_of(u32 bad, u32 none) { return Status::at(Status::invalid_secret_key, bad, Set::n + 1, none); }

}  // namespace rf
