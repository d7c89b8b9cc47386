// Computes k G in Jacobian coordinates for secret scalars k, given or random: one thread per item. If k is out of
// range, writes 0 as the scalar, and the base point G as the point.
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

// Returns the item's scalar, given or random; 0 if it is out of range.
RF_FN u256 scalar_at(const u256* given, u64 item) {
    u256 k = load_be(given + item);
    return select(is_scalar(k), k, Fn::zero());
}
RF_FN u256 scalar_at(const RandomKey* random_key, u64 item) { return draw_key(*random_key, item); }

extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    sm2_points(const Task::Source* source, const Affine* table, u256* scalars, Jacobian* points, u32* statuses, u64 first,
               u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    store_multiple<Task, Task::given>(scalar_at(source, item), table, scalars + item, points + item);
    statuses[item] = pending;
}
