// Helpers for kernels in which several threads share a polynomial, in any ring Rq. Include it after the generated
// header prelude.cuh, which defines Rq.
#pragma once
#include "kem_status.cuh"
#include "pack.cuh"
#include "ring.cuh"

namespace rf {

// Returns the item that a thread works on. Surplus threads of the last block recompute the first item without storing.
RF_FN u64 item_of(const Row<Rq>& row, u64 first) { return row.live ? row.index : first; }

// Returns the index of the first of n packed numbers of Width bits that is not below Limit; if there is none, a number
// above n. `seen` is true if this thread has already found such a number. All threads that share the polynomial must
// call it, and all get the same result.
template <u32 Width, u32 Limit>
RF_FN u32 first_beyond(const u32* words, u32 thread, bool seen) {
    u32 first = ~0u;
    if (any_in_row<Rq>(seen)) {
        for (u32 i = thread; i < Rq::n; i += Rq::threads)
            if (unpack_one<Width>(words, i) >= Limit) first = min_word(first, i);
    }
    RF_UNROLL
    for (u32 step = 1; step < Rq::threads; step *= 2)
        first = min_word(first, __shfl_xor_sync(0xffffffff, first, step));
    return first;
}

}  // namespace rf
