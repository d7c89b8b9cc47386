// Helpers for all kernels with a polynomial per row, in any ring Rq: items, and numbers out of range. Include it after
// the prelude.
#pragma once
#include "kem_status.cuh"
#include "pack.cuh"
#include "ring.cuh"

namespace rf {

// The item of a row. Threads past the end recompute the first item.
RF_FN u64 item_of(const Row<Rq>& row, u64 first) { return row.live ? row.index : first; }

// The place of the first of n packed numbers of Width bits that is not below Limit, or a number above n if there is
// none.
// in: whether this thread saw one   out: the same place for all threads of the row, all of which must call it
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
