// Generates nonces k for keys and digests, and computes k G in Jacobian coordinates: one thread per item. If both
// halves of an item's random block are out of range, writes 0 as the nonce, and the base point G as the point.
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    sm2_nonces(const RandomKey* random_key, const Affine* table, const u256* keys, const u256* digests, u256* nonces, Jacobian* points,
               u32* statuses, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    const u256 k = draw_nonce(*random_key, item, 0, keys[Task::one_key ? 0 : item], digests[item]);
    store_multiple<Task, false>(k, table, nonces + item, points + item);
    statuses[item] = pending;
}
