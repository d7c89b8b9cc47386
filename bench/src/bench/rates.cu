// What a pipe does at best: chains of one operation side by side in every thread, each step on what the one before left.
// The prelude says which operation, as `Task`, and how much of it.
#include "word.cuh"
#include "prelude.cuh"
using namespace rf;

// x a + a
struct Multiply {
    u32 a;
    RF_METHOD Multiply(u32 a) : a(a) {}
    RF_METHOD u32 step(u32 x) const { return x * a + a; }
};

// A rotation and an exclusive or.
struct Logic {
    u32 a;
    RF_METHOD Logic(u32 a) : a(a) {}
    RF_METHOD u32 step(u32 x) const { return rotate_left(x, 1) ^ a; }
};

// in: a seed for each thread; the first one's is the operand of all   out: the sum of the thread's chains
extern "C" __global__ void __launch_bounds__(THREADS) rates(const u32* in, u64* out, u64 first, u64 end) {
    const u64 item = first + blockIdx.x;
    if (item >= end) return;
    const Task task(in[item * THREADS]);
    const u32 seed = in[item * THREADS + threadIdx.x];
    u32 x[CHAINS];
    RF_UNROLL
    for (u32 c = 0; c < CHAINS; c++) x[c] = seed + c;
    RF_LOOP
    for (u32 i = 0; i < STEPS / UNROLLED; i++) {
        RF_UNROLL
        for (u32 j = 0; j < UNROLLED; j++) {
            RF_UNROLL
            for (u32 c = 0; c < CHAINS; c++) x[c] = task.step(x[c]);
        }
    }
    u64 sum = 0;
    RF_UNROLL
    for (u32 c = 0; c < CHAINS; c++) sum += x[c];
    out[item * THREADS + threadIdx.x] = sum;
}
