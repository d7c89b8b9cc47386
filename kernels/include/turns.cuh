// Double buffering: a block works on the tiles of several items one after another, and prefetches the next tile
// meanwhile.
#pragma once
#include "copies.cuh"
#include "ring.cuh"

namespace rf {

// Prefetches the residues that a thread needs in pass 0 of the next item's tile. Each thread copies them to shared
// memory that no other thread accesses, so that no barrier is needed.
template <class R>
struct Next {
    using S = Pass<R, 0>;
    using Store = typename R::Store;
    static constexpr u32 bytes = vector_bytes(S::run * sizeof(Store), 16), each = bytes / sizeof(Store);

    RF_FN Store* at(unsigned char* block_shared, u32 copy) {
        return (Store*)(block_shared + next_row<R> + (copy * (R::threads * R::tile) + threadIdx.x) * bytes);
    }
    RF_FN void fetch(unsigned char* block_shared, const Store* row, u32 thread) {
        RF_UNROLL
        for (u32 i = 0; i < R::per_thread; i += each)
            copy_ahead<bytes>(at(block_shared, i / each), row + S::run_place(thread, i / S::run) + i % S::run);
    }
    RF_FN void take(typename R::M::Word* x, unsigned char* block_shared) {
        await_copies();
        RF_UNROLL
        for (u32 i = 0; i < R::per_thread; i += each)
            Move<Store, each, bytes>::template load<typename R::M::Word>(
                at(block_shared, i / each), [&](u32 c, auto v) { x[S::reg(i / S::run, i % S::run + c)] = v; });
    }
};

// Calls work(row, x) for each item of the block, where x holds the tile's coefficients in the layout of pass 0.
template <class R, class F>
RF_FN void in_turn(Row<R> row, const typename R::Store* in, u64 distance, u64 per_item, unsigned char* block_shared, F work) {
    typename R::M::Word x[R::per_thread];
    load_row<R, 0>(x, in + row.offset(distance), row.thread, row.live, row.width());
    const u32 items = row.items;
    RF_LOOP
    for (u32 done = 1;; done++) {
        const Row<R> next = row.of_item(1, per_item);
        if (done < items) Next<R>::fetch(block_shared, in + next.offset(distance), row.thread);
        work(row, x);
        if (done == items) return;
        Next<R>::take(x, block_shared);
        row = next;
    }
}

}  // namespace rf
