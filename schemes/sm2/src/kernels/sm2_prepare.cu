// Prepares private keys d for signing: computes (1 + d)^-1 mod n in Montgomery form, or 0 if d is out of range. One
// thread per key.
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

extern "C" __global__ void __launch_bounds__(Task::threads)
    sm2_prepare(const u256* private_keys, u256* prepared, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    u256 d = load_be(private_keys + item), one = {{1, 0, 0, 0, 0, 0, 0, 0}};
    u256 sum = select(is_scalar(d), Fn::add(modulo_n(d), one), Fn::zero());
    prepared[item] = Fn::inverse(Fn::to_montgomery(sum));
}
