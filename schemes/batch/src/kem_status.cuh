// The status of an item of a key encapsulation mechanism, a word: `fine`, or the code of an error in the low byte, and above
// it the coefficient that it is about. `ringforge_batch` has the same common words, each mechanism's `SchemeError` the codes
// of its own; any other word is an error too.
#pragma once
#include "word.cuh"

namespace rf {

struct Status {
    // fine: nothing holds it by accident. pending: fine so far, and a later step has the last word; halfway: the same after
    // a second step of three. Each step goes on from the word of the one before, so that none can be left out.
    // Before the first step all statuses are 0, by the engine: an item that keeps that was reached by no kernel.
    static constexpr u32 fine = 0x600df17e, pending = 0x9e2d126a, halfway = 0x3b75d8c4;
    static constexpr u32 not_invertible = 1, invalid_public_key = 2, invalid_secret_key = 3, wrong_hash = 4;

    // in: an error's code, the first coefficient of n that it is about, or any larger number
    // out: the word of the error, or what the status is if there is none
    RF_FN u32 at(u32 code, u32 first, u32 n, u32 none = fine) { return first < n ? code | first << 8 : none; }
};

}  // namespace rf
