// The first entry of each bucket in its window's sorted list, by binary search: one thread per bucket. The last number
// of a window is the number of its entries other than zeros.
#include "buckets.cuh"
#include "prelude.cuh"
using namespace msm;

extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_starts(const u64* entries, u32* starts, u64 count, u64 width, u64 windows, u64 blocks, u64 first, u64) {
    const Place place(first, blocks);
    const u32 buckets = (1u << (width - 1)) + 1, i = place.block * Task::threads + threadIdx.x;
    if (i >= windows * buckets) return;
    const u64* list = entries + (place.item * windows + i / buckets) * count;
    u32 from = 0, to = (u32)count;
    while (from < to) {
        const u32 middle = (from + to) / 2;
        if (bucket_of(list[middle]) < i % buckets) from = middle + 1;
        else to = middle;
    }
    starts[place.item * windows * buckets + i] = from;
}
