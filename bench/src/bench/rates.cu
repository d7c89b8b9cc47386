// What a pipe does at best: chains of one operation side by side in every thread, each step on what the one before left.
// The prelude says which operation, as `Task`, and how much of it.
#include "word.cuh"
#include "prelude.cuh"
using namespace rf;

// x a + a
struct Multiply {
    using Word = u32;
    u32 a;
    RF_METHOD Multiply(u32 a) : a(a) {}
    RF_METHOD Word start(u32 seed) const { return seed; }
    RF_METHOD Word step(Word x) const { return x * a + a; }
    RF_METHOD u64 bits(Word x) const { return x; }
};

// The low half of x times its high half, and x.
struct WideMultiply {
    using Word = u64;
    u32 a;
    RF_METHOD WideMultiply(u32 a) : a(a) {}
    RF_METHOD Word start(u32 seed) const { return join(seed, a); }
    RF_METHOD Word step(Word x) const { return mad_wide(low(x), high(x), x); }
    RF_METHOD u64 bits(Word x) const { return x; }
};

// A rotation and an exclusive or.
struct Logic {
    using Word = u32;
    u32 a;
    RF_METHOD Logic(u32 a) : a(a) {}
    RF_METHOD Word start(u32 seed) const { return seed; }
    RF_METHOD Word step(Word x) const { return rotate_left(x, 1) ^ a; }
    RF_METHOD u64 bits(Word x) const { return x; }
};

// x f + 1 in doubles, f from 1/2 to 3/4.
struct Double {
    using Word = double;
    double f;
    RF_METHOD Double(u32 a) : f(__fma_rn((double)(a & 255), 0x1p-10, 0.5)) {}
    RF_METHOD Word start(u32 seed) const { return (double)seed; }
    RF_METHOD Word step(Word x) const { return __fma_rn(x, f, 1.0); }
    RF_METHOD u64 bits(Word x) const { return bits_of(x); }
};

// What the lane says whose number is higher by a.
struct Shuffle {
    using Word = u32;
    int from;
    RF_METHOD Shuffle(u32 a) : from((int)((threadIdx.x + a) % 32)) {}
    RF_METHOD Word start(u32 seed) const { return seed; }
    RF_METHOD Word step(Word x) const { return __shfl_sync(0xffffffff, x, from); }
    RF_METHOD u64 bits(Word x) const { return x; }
};

// A matrix of 16 × 32 signed bytes times one of 32 × 8, added to 16 × 8 words, of which each lane holds four. All lanes
// give the same four bytes again and again, so that every word grows by eight times the sum of their squares.
struct Tensor {
    struct Word {
        u32 x[4];
    };
    u32 a;
    RF_METHOD Tensor(u32 a) : a(a) {}
    RF_METHOD Word start(u32 seed) const { return {{seed, seed, seed, seed}}; }
    RF_METHOD Word step(Word c) const {
#if RF_PTX
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
            : "+r"(c.x[0]), "+r"(c.x[1]), "+r"(c.x[2]), "+r"(c.x[3])
            : "r"(a));
#else
        for (u32 k = 0; k < 32; k++) {
            i32 byte = (i32)(a << 24 - 8 * (k % 4)) >> 24;
            for (u32 i = 0; i < 4; i++) c.x[i] += (u32)(byte * byte);
        }
#endif
        return c;
    }
    RF_METHOD u64 bits(Word c) const { return (u64)c.x[0] + c.x[1] + c.x[2] + c.x[3]; }
};

// in: a seed for each thread; the first one's is the operand of all   out: the sum of the thread's chains
extern "C" __global__ void __launch_bounds__(THREADS) rates(const u32* in, u64* out, u64 first, u64 end) {
    const u64 item = first + blockIdx.x;
    if (item >= end) return;
    const Task task(in[item * THREADS]);
    const u32 seed = in[item * THREADS + threadIdx.x];
    Task::Word x[CHAINS];
    RF_UNROLL
    for (u32 c = 0; c < CHAINS; c++) x[c] = task.start(seed + c);
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
    for (u32 c = 0; c < CHAINS; c++) sum += task.bits(x[c]);
    out[item * THREADS + threadIdx.x] = sum;
}
