// Computes signatures from nonces k and the points k G: several items per thread, with one inversion for all of them
// (Montgomery's trick).
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

extern "C" __global__ void __launch_bounds__(Task::threads)
    sm2_sign(const u256* keys, const u256* digests, const u256* nonces, const Jacobian* points, u256* signatures,
             u32* statuses, u64 first, u64 end) {
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
        u256 x = Fp::from_montgomery(Fp::mul(points[item].x, Fp::square(z[i])));
        u256 key = keys[Task::one_key ? 0 : item], k = nonces[item], r, s;
        // Z = 0 marks an addition of equal points, which gives a wrong sum (see curve.cuh): another nonce is needed
        u32 good = sign(key, load_be(digests + item), k, x, r, s) & (is_zero(k) ^ 1) & (is_zero(z[i]) ^ 1);
        u32 status = select(good, (u32)fine, (u32)Task::refused);
        status = select(is_zero(key), (u32)private_key_range, status);
        // a status other than `pending` means that no nonce was written
        const u32 reached = statuses[item] == pending;
        status = select(reached, status, (u32)not_reached);
        good &= (is_zero(key) ^ 1) & reached;
        store_be(signatures + 2 * item, select(good, r, Fn::zero()));
        store_be(signatures + 2 * item + 1, select(good, s, Fn::zero()));
        statuses[item] = status;
    }
}
