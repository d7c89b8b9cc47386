// Compaction for a repetition: lists the items whose status is Task::again, in order. One block
// per list.
#include "prelude.cuh"

#include "scan.cuh"
using namespace rf;

constexpr u32 run = 8;  // items of a thread at a time

// in: the statuses of `items` items
// out: `list`, the unfinished items, then no_item; `places`, the place of each item in the list, or no_item if the item
//      is finished; `count`, the number of unfinished items
extern "C" __global__ void __launch_bounds__(Task::threads)
    repeat_list(const u32* statuses, u32* list, u32* places, u32* count, u64 items, u64 first, u64) {
    RF_SHARED(shared);
    const u64 number = first + blockIdx.x;
    statuses += number * items, list += number * items, places += number * items;
    u32 before = 0;
    RF_LOOP
    for (u32 at = 0; at < items; at += Task::threads * run) {
        const u32 begin = at + threadIdx.x * run;
        u32 again = 0, total;
        RF_UNROLL
        for (u32 i = 0; i < run; i++)
            if (begin + i < items) again |= (u32)(statuses[begin + i] == Task::again) << i;
        u32 place = before + block_prefix<Task::threads>(__popc(again), (u32*)shared, total);
        RF_UNROLL
        for (u32 i = 0; i < run; i++) {
            const bool is_listed = again >> i & 1;
            if (begin + i < items) places[begin + i] = is_listed ? place : Task::no_item;
            if (is_listed) list[place++] = begin + i;
        }
        before += total;
    }
    RF_LOOP
    for (u32 place = before + threadIdx.x; place < items; place += Task::threads) list[place] = Task::no_item;
    if (threadIdx.x == 0) count[number] = before;
}
