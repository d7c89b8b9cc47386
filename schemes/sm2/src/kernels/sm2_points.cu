// Secret scalars and their multiples of the base point, not yet affine: an item a thread. A scalar that is out of range, or
// was not found, is written as 0, and 1 stands in for it.
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

// Given scalars, or drawn ones; 0 for none.
RF_FN u256 scalar_of(const u256* given, u64 item) {
    u256 k = load_be(given + item);
    return select(is_scalar(k), k, Fn::zero());
}
RF_FN u256 scalar_of(const Draws* draws, u64 item) { return draw_scalar(*draws, item, 0); }

extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    sm2_points(const Task::Source* source, const Affine* table, u256* scalars, Jacobian* points, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    u256 k = scalar_of(source, item);
    scalars[item] = k;
    const u256 one = {{1, 0, 0, 0, 0, 0, 0, 0}};
    k = select(is_zero(k), one, k);
    points[item] = multiply_base<Fp, Task, Task::scan, Task::given>(table, k, Fn::modulus());
}
