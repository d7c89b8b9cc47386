// Status word of one item of a KEM: `ok`, or an error with its code in the low byte and the index of the offending
// coefficient in the bits above. `status.rs` of ringforge-batch defines the same common words, and the `SchemeError` of
// a scheme defines its error codes. Every word except `ok` counts as an error.
#pragma once
#include "word.cuh"

namespace rf {

struct Status {
    // ok: no error. The word is a magic number, so that stale memory is not mistaken for it.
    // pending: no error after the first step of several; a later step decides. half_done: no error after the second of
    // three steps. Each step requires the word of the step before it, so a skipped step is detected. The engine sets
    // all statuses to 0 before the first step, so 0 means that no kernel reached the item.
    static constexpr u32 ok = 0x600df17e, pending = 0x9e2d126a, half_done = 0x3b75d8c4;
    static constexpr u32 not_invertible = 1, invalid_public_key = 2, invalid_secret_key = 3, wrong_hash = 4;

    // in: an error code; first, the index of the first offending coefficient, or a number >= n if there is none
    // out: the status word of the error, or `none` if there is no offending coefficient
    RF_FN u32 at(u32 code, u32 first, u32 n, u32 none = ok) { return first < n ? code | first << 8 : none; }
};

}  // namespace rf
