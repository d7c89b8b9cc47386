// Re-signs items whose nonce was rejected (one item in 2^64), with further nonces: one thread per item.
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

extern "C" __global__ void __launch_bounds__(Task::threads)
    sm2_sign_again(const RandomKey* random_key, const Affine* table, const u256* keys, const u256* digests, u256* signatures,
                   u32* statuses, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end || statuses[item] != retry) return;
    const u256 key = keys[Task::one_key ? 0 : item], e = load_be(digests + item);
    u256 r, s;
    u32 good = 0;
    RF_LOOP
    for (u32 attempt = 1; attempt <= Task::attempts && !good; attempt++) {
        u256 k = draw_nonce(*random_key, item, attempt, key, digests[item]);
        if (is_zero(k)) continue;
        Jacobian point = multiply_base<Fp, Task, Task::scan, false>(table, k, Fn::modulus());
        u256 x = Fp::from_montgomery(Fp::mul(point.x, Fp::square(Fp::inverse(point.z))));
        good = sign(key, e, k, x, r, s) & (is_zero(point.z) ^ 1);
    }
    statuses[item] = good ? fine : nonce_refused;
    store_be(signatures + 2 * item, select(good, r, Fn::zero()));
    store_be(signatures + 2 * item + 1, select(good, s, Fn::zero()));
}
