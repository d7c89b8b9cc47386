// Status word of one item of a KEM: `fine`, or an error code in the low byte and the index of the offending coefficient
// above it. `ringforge_batch` defines the same common words, and each scheme's `SchemeError` its codes; any other word
// is an error too.
#pragma once
#include "word.cuh"

namespace rf {

struct Status {
    // fine: a magic number, so that stale memory does not pass for it. pending: no error so far, a later step decides.
    // halfway: the same after the second of three steps. Each step requires its predecessor's word, so none can be
    // skipped. The engine sets all statuses to 0 before the first step: an item that keeps 0 was reached by no kernel.
    static constexpr u32 fine = 0x600df17e, pending = 0x9e2d126a, halfway = 0x3b75d8c4;
    static constexpr u32 not_invertible = 1, invalid_public_key = 2, invalid_secret_key = 3, wrong_hash = 4;

    // in: the code of an error, the index of the offending coefficient (below n), or any larger number if there is none
    // out: the word of the error, or `none` if there is none
    RF_FN u32 at(u32 code, u32 first, u32 n, u32 none = fine) { return first < n ? code | first << 8 : none; }
};

}  // namespace rf
