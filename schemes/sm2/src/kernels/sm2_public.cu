// Computes key pairs from private scalars d and the points d G: several items per thread, with one inversion for all of
// them (Montgomery's trick).
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

extern "C" __global__ void __launch_bounds__(Task::threads)
    sm2_public(const u256* scalars, const Jacobian* points, u256* private_keys, u256* public_keys, u32* statuses, u64 first,
               u64 end) {
    u256 z[Task::per_thread], before[Task::per_thread];
    const u64 start = first + (u64)blockIdx.x * (Task::threads * Task::per_thread) + threadIdx.x;
    u32 count = 0;
    RF_LOOP
    for (u64 item = start; count < Task::per_thread && item < end; item += Task::threads) z[count++] = points[item].z;
    if (count == 0) return;
    invert_all<Fp>(z, before, count);
    RF_LOOP
    for (u32 i = 0; i < count; i++) {
        const u64 item = start + (u64)i * Task::threads;
        u256 d = scalars[item], square = Fp::square(z[i]), one = {{1, 0, 0, 0, 0, 0, 0, 0}};
        u256 x = Fp::mul(points[item].x, square), y = Fp::mul(points[item].y, Fp::mul(square, z[i]));
        // d must be from 1 to n - 2
        u32 bad = is_zero(d) | is_zero(Fn::add(d, one)) | is_zero(z[i]);
        u32 status = select(bad, (u32)private_key_range, (u32)fine);
        // a status other than `pending` means that no scalar was written
        const u32 reached = statuses[item] == pending;
        status = select(reached, status, (u32)not_reached);
        bad |= reached ^ 1;
        store_be(private_keys + item, select(bad, Fn::zero(), d));
        store_be(public_keys + 2 * item, select(bad, Fp::zero(), Fp::from_montgomery(x)));
        store_be(public_keys + 2 * item + 1, select(bad, Fp::zero(), Fp::from_montgomery(y)));
        statuses[item] = status;
    }
}
