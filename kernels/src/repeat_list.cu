// Compaction for a repetition: lists the items whose status is Task::again, in order. One block.
#include "prelude.cuh"

#include "scan.cuh"
using namespace rf;

// in: the statuses of `items` items
// out: `list`, the unfinished items, then no_item; `places`, the place of each item in the list, or no_item if the item
//      is finished; `count`, the number of unfinished items
extern "C" __global__ void __launch_bounds__(Task::threads)
    repeat_list(const u32* statuses, u32* list, u32* places, u32* count, u64 items, u64, u64) {
    RF_SHARED(shared);
    u32 before = 0;
    RF_LOOP
    for (u32 at = 0; at < items; at += Task::threads) {
        const u32 item = at + threadIdx.x;
        const bool again = item < items && statuses[item] == Task::again;
        u32 total;
        const u32 place = before + block_prefix<Task::threads>(again, (u32*)shared, total);
        if (item < items) places[item] = again ? place : Task::no_item;
        if (again) list[place] = item;
        before += total;
    }
    RF_LOOP
    for (u32 place = before + threadIdx.x; place < items; place += Task::threads) list[place] = Task::no_item;
    if (threadIdx.x == 0) *count = before;
}
