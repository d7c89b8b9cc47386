// Machine words, wide products and carry chains. Inline PTX appears only here, in copies.cuh and in mma.cuh.
//
// Every PTX function has a portable twin in this file with the same result for every input. Host compilers always use
// the twins; -DRF_PORTABLE makes the device use them too, so that both can be compared bit for bit. No function of this
// file branches on its arguments.
#pragma once

#if defined(__CUDACC__)
#define RF_FN static __device__ __forceinline__
#define RF_METHOD __device__ __forceinline__
#define RF_CONST static __device__ constexpr
#define RF_CALL static __device__ __noinline__
#define RF_UNROLL _Pragma("unroll")
#define RF_LOOP _Pragma("unroll 1")
#define RF_UNROLL_4 _Pragma("unroll 4")
#define RF_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#else
#define RF_FN static inline
#define RF_METHOD inline
#define RF_CONST static constexpr
#define RF_CALL static
#define RF_UNROLL
#define RF_LOOP
#define RF_UNROLL_4
#endif

#if defined(__CUDACC__) && !defined(RF_PORTABLE)
#define RF_PTX 1
#else
#define RF_PTX 0
#endif

namespace rf {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "u16, u32 and u64 must have 2, 4 and 8 bytes");

// Vectors of sixteen or eight bytes that move by one load or store (LDG.128, STS.128, …).
struct alignas(16) u32x4 {
    u32 x, y, z, w;
};
struct alignas(16) u64x2 {
    u64 x, y;
};
struct alignas(8) u32x2 {
    u32 x, y;
};

// The integer lo + 2^64 hi.
struct u128 {
    u64 lo, hi;
};
// The integer x0 + 2^32 x1 + 2^64 x2, where x2 counts as signed.
struct i96 {
    u32 x0, x1, x2;
};

// ---- words in plain C++, for which the compiler finds the right instruction ----

RF_FN u32 low(u64 x) { return (u32)x; }
RF_FN u32 high(u64 x) { return (u32)(x >> 32); }
RF_FN u64 join(u32 lo, u32 hi) { return (u64)hi << 32 | lo; }

// out: a b
RF_FN u64 mul_wide(u32 a, u32 b) { return (u64)a * b; }
// out: a b + c mod 2^64   (no wrap for c <= 2^33 - 2)
RF_FN u64 mad_wide(u32 a, u32 b, u64 c) { return (u64)a * b + c; }

// in: by < the number of bits of x   out: x rotated left
RF_FN u32 rotate_left(u32 x, u32 by) { return x << by | x >> (32 - by & 31); }
RF_FN u64 rotate_left(u64 x, u32 by) { return x << by | x >> (64 - by & 63); }

RF_FN u32 min_word(u32 a, u32 b) { return a < b ? a : b; }

// out: x - m if x >= m, else x   (for any x, m: x - m wraps to more than x exactly if x < m)
RF_FN u32 sub_once(u32 x, u32 m) { return min_word(x, x - m); }

// ---- doubles ----

// Bit casts between double and u64.
RF_FN u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
RF_FN double double_of(u64 bits) { return __longlong_as_double((i64)bits); }

// in: x < 2^52   out: x as a double   (x is the lower bits of the double 2^52 + x)
RF_FN double to_double(u64 x) {
    constexpr double offset = 4503599627370496.0;
    return __dadd_rn(double_of(x | 0x4330000000000000ull), -offset);
}
// in: an integer, 0 <= x < 2^52   out: x as an integer
RF_FN u64 to_integer(double x) {
    constexpr double offset = 4503599627370496.0;
    return bits_of(__dadd_rn(x, offset)) & 0x000fffffffffffffull;
}

// ---- products as PTX ----

#if RF_PTX

// out: floor(a b / 2^32)   (PTX, because the compiler otherwise keeps the 64-bit product)
RF_FN u32 mul_hi(u32 a, u32 b) {
    u32 r;
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

// out: a b + c mod 2^64   (one multiply-add, as a carry chain: from plain C++ the compiler first adds products to each
//     other)
RF_FN u64 mad_fused(u32 a, u32 b, u64 c) {
    u64 r;
    asm("{\n\t.reg .u32 lo, hi;\n\tmov.b64 {lo, hi}, %3;\n\t"
        "mad.lo.cc.u32 lo, %1, %2, lo;\n\tmadc.hi.u32 hi, %1, %2, hi;\n\tmov.b64 %0, {lo, hi};\n\t}"
        : "=l"(r)
        : "r"(a), "r"(b), "l"(c));
    return r;
}

// out: a b   (PTX, because the compiler makes 64-bit products if an operand is the upper half of a word)
RF_FN i64 mul_signed(i32 a, i32 b) {
    i64 r;
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(r) : "r"(a), "r"(b));
    return r;
}

// out: floor(a b / 2^32)
RF_FN i32 mul_hi_signed(i32 a, i32 b) {
    i32 r;
    asm("mul.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

// out: floor(a b / 2^64)
RF_FN u64 mul_hi(u64 a, u64 b) {
    u64 r;
    asm("mul.hi.u64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
    return r;
}

// out: a b + c d mod 2^64   (six multiply-adds: two wide ones, then four into the upper half)
RF_FN u64 dot_lo(u64 a, u64 b, u64 c, u64 d) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, c0, c1, d0, d1, lo, hi;\n\t.reg .u64 t;\n\t"
        "mov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\t"
        "mov.b64 {c0, c1}, %3;\n\tmov.b64 {d0, d1}, %4;\n\t"
        "mul.wide.u32 t, a0, b0;\n\tmad.wide.u32 t, c0, d0, t;\n\tmov.b64 {lo, hi}, t;\n\t"
        "mad.lo.u32 hi, a0, b1, hi;\n\tmad.lo.u32 hi, a1, b0, hi;\n\t"
        "mad.lo.u32 hi, c0, d1, hi;\n\tmad.lo.u32 hi, c1, d0, hi;\n\t"
        "mov.b64 %0, {lo, hi};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b), "l"(c), "l"(d));
    return r;
}

// out: a b + c mod 2^64   (three multiply-adds)
RF_FN u64 mad_lo(u64 a, u64 b, u64 c) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, lo, hi;\n\t.reg .u64 t;\n\t"
        "mov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\t"
        "mad.wide.u32 t, a0, b0, %3;\n\tmov.b64 {lo, hi}, t;\n\t"
        "mad.lo.u32 hi, a0, b1, hi;\n\tmad.lo.u32 hi, a1, b0, hi;\n\t"
        "mov.b64 %0, {lo, hi};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b), "l"(c));
    return r;
}

// out: floor(a b / 2^64) + e mod 2^64, e in {1, 2}   (three products: the addend 2^33 - 2 of the first replaces the
//     upper half of the lowest product by its maximum 2^32 - 2, and adds 1 to the result)
RF_FN u64 mul_hi_above(u64 a, u64 b) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, t0, t1, t2;\n\t"
        "mov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\t"
        "mad.lo.cc.u32 t0, a0, b1, 0xfffffffe;\n\tmadc.hi.u32 t1, a0, b1, 1;\n\t"
        "mad.lo.cc.u32 t0, a1, b0, t0;\n\tmadc.hi.cc.u32 t1, a1, b0, t1;\n\taddc.u32 t2, 0, 0;\n\t"
        "mad.lo.cc.u32 t1, a1, b1, t1;\n\tmadc.hi.u32 t2, a1, b1, t2;\n\t"
        "mov.b64 %0, {t1, t2};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b));
    return r;
}

// out: floor(a b / 2^64) - e mod 2^64, e in {0, 1}   (three products: the lowest one is dropped)
RF_FN u64 mul_hi_middle(u64 a, u64 b) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, t0, t1, t2;\n\t"
        "mov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\t"
        "mul.lo.u32 t0, a0, b1;\n\tmul.hi.u32 t1, a0, b1;\n\t"
        "mad.lo.cc.u32 t0, a1, b0, t0;\n\tmadc.hi.cc.u32 t1, a1, b0, t1;\n\taddc.u32 t2, 0, 0;\n\t"
        "mad.lo.cc.u32 t1, a1, b1, t1;\n\tmadc.hi.u32 t2, a1, b1, t2;\n\t"
        "mov.b64 %0, {t1, t2};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b));
    return r;
}

// out: a b + c (2^32 d + 1) mod 2^64   (one wide multiply-add, then three into the upper half)
RF_FN u64 dot_friendly(u64 a, u64 b, u64 c, u32 d) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, c0, c1, lo, hi;\n\t"
        "mov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\tmov.b64 {c0, c1}, %3;\n\t"
        "mad.lo.cc.u32 lo, a0, b0, c0;\n\tmadc.hi.u32 hi, a0, b0, c1;\n\t"
        "mad.lo.u32 hi, a0, b1, hi;\n\tmad.lo.u32 hi, a1, b0, hi;\n\tmad.lo.u32 hi, c0, %4, hi;\n\t"
        "mov.b64 %0, {lo, hi};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b), "l"(c), "r"(d));
    return r;
}

// out: a b
RF_FN u128 mul_wide(u64 a, u64 b) {
    u128 r;
    asm("mul.lo.u64 %0, %2, %3;\n\tmul.hi.u64 %1, %2, %3;" : "=&l"(r.lo), "=l"(r.hi) : "l"(a), "l"(b));
    return r;
}

// out: a b + c mod 2^128   (the outer products are added to c directly; the inner ones are added to each other first)
RF_FN u128 mad_wide(u64 a, u64 b, u128 c) {
    u128 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, c0, c1, c2, c3, t0, t1, t2;\n\t"
        "mov.b64 {a0, a1}, %2;\n\tmov.b64 {b0, b1}, %3;\n\t"
        "mov.b64 {c0, c1}, %4;\n\tmov.b64 {c2, c3}, %5;\n\t"
        "mul.lo.u32 t0, a0, b1;\n\tmul.hi.u32 t1, a0, b1;\n\t"
        "mad.lo.cc.u32 t0, a1, b0, t0;\n\tmadc.hi.cc.u32 t1, a1, b0, t1;\n\taddc.u32 t2, 0, 0;\n\t"
        "mad.lo.cc.u32 c0, a0, b0, c0;\n\tmadc.hi.cc.u32 c1, a0, b0, c1;\n\t"
        "madc.lo.cc.u32 c2, a1, b1, c2;\n\tmadc.hi.u32 c3, a1, b1, c3;\n\t"
        "add.cc.u32 c1, c1, t0;\n\taddc.cc.u32 c2, c2, t1;\n\taddc.u32 c3, c3, t2;\n\t"
        "mov.b64 %0, {c0, c1};\n\tmov.b64 %1, {c2, c3};\n\t}"
        : "=l"(r.lo), "=l"(r.hi)
        : "l"(a), "l"(b), "l"(c.lo), "l"(c.hi));
    return r;
}

// out: a ^ b ^ c   (one LOP3 per half; the compiler would share the xor of two operands and need one more instruction)
RF_FN u64 xor3(u64 a, u64 b, u64 c) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, c0, c1;\n\t"
        "mov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\tmov.b64 {c0, c1}, %3;\n\t"
        "lop3.b32 a0, a0, b0, c0, 0x96;\n\tlop3.b32 a1, a1, b1, c1, 0x96;\n\t"
        "mov.b64 %0, {a0, a1};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b), "l"(c));
    return r;
}

// Arithmetic modulo the Goldilocks prime q = 2^64 - 2^32 + 1, where 2^64 = 2^32 - 1. A GPU adds and multiplies in
// different pipes, and the multiplier pipe also takes additions without carry-out. The functions below keep both pipes
// equally busy in a butterfly.

// out: a - b mod 2^64, plus q if a < b
RF_FN u64 sub_folded(u64 a, u64 b) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, borrow;\n\tmov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\t"
        "sub.cc.u32 a0, a0, b0;\n\tsubc.cc.u32 a1, a1, b1;\n\tsubc.u32 borrow, 0, 0;\n\t"
        "sub.cc.u32 a0, a0, borrow;\n\tsubc.u32 a1, a1, 0;\n\tmov.b64 %0, {a0, a1};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b));
    return r;
}

// in: b < q   out: a + b mod 2^64, minus q if a + b >= q   (q is subtracted first, and added back if a + b gave no
//     carry)
RF_FN u64 add_folded(u64 a, u64 b) {
    u64 r;
    asm("{\n\t.reg .u32 a0, a1, b0, b1, back;\n\tmov.b64 {a0, a1}, %1;\n\tmov.b64 {b0, b1}, %2;\n\t"
        "add.cc.u32 b0, b0, 0xffffffff;\n\taddc.u32 b1, b1, 0;\n\t"
        "add.cc.u32 a0, a0, b0;\n\taddc.cc.u32 a1, a1, b1;\n\taddc.u32 back, 0xffffffff, 0;\n\t"
        "sub.cc.u32 a0, a0, back;\n\tsubc.u32 a1, a1, 0;\n\tmov.b64 %0, {a0, a1};\n\t}"
        : "=l"(r)
        : "l"(a), "l"(b));
    return r;
}

// Montgomery reduction with R = 2^64.   in: p.hi < q - 1   out: 2^-64 p mod q, < q
// Let p = (hi, l1, l0) and l0 + l1 = 2^32 e + sum. Subtracting the multiple of q with the same lower half as p leaves
// hi + l1 + e - 2^32 (sum + e) as the upper half. The sum is computed twice, since its carry has two uses.
RF_FN u64 reduce_folded(u128 p) {
    u64 r;
    asm("{\n\t.reg .u32 l0, l1, h0, h1, sum, taken;\n\tmov.b64 {l0, l1}, %1;\n\tmov.b64 {h0, h1}, %2;\n\t"
        "add.cc.u32 sum, l0, l1;\n\taddc.u32 taken, sum, 0;\n\t"
        "add.cc.u32 sum, l0, l1;\n\taddc.cc.u32 h0, h0, l1;\n\taddc.u32 h1, h1, 0;\n\t"
        "sub.cc.u32 h1, h1, taken;\n\tsubc.u32 taken, 0, 0;\n\t"
        "sub.cc.u32 h0, h0, taken;\n\tsubc.u32 h1, h1, 0;\n\tmov.b64 %0, {h0, h1};\n\t}"
        : "=l"(r)
        : "l"(p.lo), "l"(p.hi));
    return r;
}

// out: a + b (add_signed) or a - b (sub_signed), mod 2^96
RF_FN i96 add_signed(i96 a, i96 b) {
    i96 r;
    asm("add.cc.u32 %0, %3, %6;\n\taddc.cc.u32 %1, %4, %7;\n\taddc.u32 %2, %5, %8;"
        : "=&r"(r.x0), "=&r"(r.x1), "=r"(r.x2)
        : "r"(a.x0), "r"(a.x1), "r"(a.x2), "r"(b.x0), "r"(b.x1), "r"(b.x2));
    return r;
}
RF_FN i96 sub_signed(i96 a, i96 b) {
    i96 r;
    asm("sub.cc.u32 %0, %3, %6;\n\tsubc.cc.u32 %1, %4, %7;\n\tsubc.u32 %2, %5, %8;"
        : "=&r"(r.x0), "=&r"(r.x1), "=r"(r.x2)
        : "r"(a.x0), "r"(a.x1), "r"(a.x2), "r"(b.x0), "r"(b.x1), "r"(b.x2));
    return r;
}

// out: x >> 31   (PTX, because from plain C++ the compiler takes two steps to extract the bit from the operands of x)
RF_FN u32 top_bit(u32 x) {
    u32 r;
    asm("shr.u32 %0, %1, 31;" : "=r"(r) : "r"(x));
    return r;
}

// Partial reductions modulo q: the top word of x, 2^32 x or 2^64 x is folded into the words below it, which leaves
// little more than 2^64. A signed word is subtracted as an unsigned one, and its top bit is added back one word higher.

// out: x0 + 2^32 x1 + (2^32 - 1) x2
RF_FN i96 fold_signed(i96 x) {
    i96 r;
    asm("{\n\t.reg .u32 sign;\n\tshr.s32 sign, %5, 31;\n\t"
        "sub.cc.u32 %0, %3, %5;\n\tsubc.cc.u32 %1, %4, sign;\n\tsubc.u32 %2, 0, 0;\n\t"
        "add.cc.u32 %1, %1, %5;\n\taddc.u32 %2, %2, 0;\n\t}"
        : "=&r"(r.x0), "=&r"(r.x1), "=&r"(r.x2)
        : "r"(x.x0), "r"(x.x1), "r"(x.x2));
    return r;
}
// in: even x0   out: 2^32 x0 + (2^32 - 1) x1 - x2
RF_FN i96 fold_signed_32(i96 x) {
    i96 r;
    const u64 p = mul_wide(x.x1, 0xffffffffu);
    asm("sub.cc.u32 %0, %3, %4;\n\tsubc.cc.u32 %1, %5, 0;\n\tsubc.u32 %2, 0, 0;\n\t"
        "add.cc.u32 %1, %1, %6;\n\taddc.u32 %2, %2, 0;"
        : "=&r"(r.x0), "=&r"(r.x1), "=&r"(r.x2)
        : "r"(low(p)), "r"(x.x2), "r"(high(p)), "r"(x.x0 + top_bit(x.x2)));
    return r;
}
// out: (2^32 - 1) x0 - x1 - 2^32 x2
RF_FN i96 fold_signed_64(i96 x) {
    i96 r;
    const u64 p = mul_wide(x.x0, 0xffffffffu);
    asm("sub.cc.u32 %0, %3, %5;\n\tsubc.cc.u32 %1, %4, %6;\n\tsubc.u32 %2, %7, 0;"
        : "=&r"(r.x0), "=&r"(r.x1), "=r"(r.x2)
        : "r"(low(p)), "r"(high(p)), "r"(x.x1), "r"(x.x2), "r"(top_bit(x.x2)));
    return r;
}

// in: unsigned x >= 2^32 - 1   out: x - (2^32 - 1) mod q, < q   (if the addition gives no carry, 2^32 - 1 is
//     subtracted, as in add_folded)
RF_FN u64 canonical_folded(i96 x) {
    u64 r;
    asm("{\n\t.reg .u32 r0, r1, back;\n\t.reg .u64 p;\n\tmul.wide.u32 p, %3, 0xffffffff;\n\tmov.b64 {r0, r1}, p;\n\t"
        "add.cc.u32 r0, r0, %1;\n\taddc.cc.u32 r1, r1, %2;\n\t"
        "addc.u32 back, 0xffffffff, 0;\n\tsub.cc.u32 r0, r0, back;\n\tsubc.u32 r1, r1, 0;\n\tmov.b64 %0, {r0, r1};\n\t}"
        : "=l"(r)
        : "r"(x.x0), "r"(x.x1), "r"(x.x2));
    return r;
}

// out: yes if c is not 0, else no
RF_FN u32 select(u32 c, u32 yes, u32 no) {
    u32 r;
    asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tselp.u32 %0, %2, %3, p;\n\t}"
        : "=r"(r)
        : "r"(c), "r"(yes), "r"(no));
    return r;
}
RF_FN u64 select(u32 c, u64 yes, u64 no) {
    u64 r;
    asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tselp.u64 %0, %2, %3, p;\n\t}"
        : "=l"(r)
        : "r"(c), "l"(yes), "l"(no));
    return r;
}

// out: yes if the top bit of c is set, else no
RF_FN u64 select_negative(u64 c, u64 yes, u64 no) {
    u64 r;
    asm("{\n\t.reg .pred p;\n\tsetp.lt.s32 p, %1, 0;\n\tselp.u64 %0, %2, %3, p;\n\t}"
        : "=l"(r)
        : "r"(high(c)), "l"(yes), "l"(no));
    return r;
}

// Stores x and y as one vector in device memory, at a multiple of 16 bytes. From a struct of two words that were just
// computed, the compiler would emit two stores, which fill half of every sector each.
RF_FN void store_device(void* at, u64 x, u64 y) {
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" : : "l"(at), "l"(x), "l"(y) : "memory");
}

#else

RF_FN u32 mul_hi(u32 a, u32 b) { return high((u64)a * b); }

RF_FN u64 mad_fused(u32 a, u32 b, u64 c) { return (u64)a * b + c; }

RF_FN i64 mul_signed(i32 a, i32 b) { return (i64)a * b; }
RF_FN i32 mul_hi_signed(i32 a, i32 b) { return (i32)((i64)a * b >> 32); }

RF_FN u64 mul_hi(u64 a, u64 b) {
    u64 cross = mad_wide(low(a), high(b), (u64)mul_hi(low(a), low(b)));
    u64 other = mad_wide(high(a), low(b), (u64)low(cross));
    return mad_wide(high(a), high(b), (u64)high(cross)) + high(other);
}

RF_FN u64 dot_lo(u64 a, u64 b, u64 c, u64 d) { return a * b + c * d; }
RF_FN u64 mad_lo(u64 a, u64 b, u64 c) { return a * b + c; }

RF_FN u64 mul_hi_middle(u64 a, u64 b) {
    u64 cross = mul_wide(low(a), high(b)), both = mad_wide(high(a), low(b), cross);
    return mad_wide(high(a), high(b), join(high(both), both < cross));
}
RF_FN u64 mul_hi_above(u64 a, u64 b) {
    u64 cross = mad_wide(low(a), high(b), 0x1fffffffeull), both = mad_wide(high(a), low(b), cross);
    return mad_wide(high(a), high(b), join(high(both), both < cross));
}
RF_FN u64 dot_friendly(u64 a, u64 b, u64 c, u32 d) { return a * b + c + ((u64)(low(c) * d) << 32); }

RF_FN u128 mul_wide(u64 a, u64 b) { return u128{a * b, mul_hi(a, b)}; }

RF_FN u128 mad_wide(u64 a, u64 b, u128 c) {
    u64 lo = a * b + c.lo;
    return u128{lo, mul_hi(a, b) + c.hi + (lo < c.lo)};
}

RF_FN u64 xor3(u64 a, u64 b, u64 c) { return a ^ b ^ c; }

RF_FN u64 sub_folded(u64 a, u64 b) { return a - b - (0u - (u32)(a < b)); }
RF_FN u64 add_folded(u64 a, u64 b) {
    u64 sum = a + (b + 0xffffffffu);
    return sum - (0u - (u32)(sum >= a));
}
RF_FN u64 reduce_folded(u128 p) {
    u32 sum = low(p.lo) + high(p.lo), carry = sum < low(p.lo);
    return sub_folded(p.hi + high(p.lo) + carry, join(0, sum + carry));
}

RF_FN i96 add_signed(i96 a, i96 b) {
    u64 x = join(a.x0, a.x1), sum = x + join(b.x0, b.x1);
    return i96{low(sum), high(sum), a.x2 + b.x2 + (u32)(sum < x)};
}
RF_FN i96 sub_signed(i96 a, i96 b) {
    u64 x = join(a.x0, a.x1), y = join(b.x0, b.x1);
    return i96{low(x - y), high(x - y), a.x2 - b.x2 - (u32)(x < y)};
}
// out: (2^32 - 1) a
RF_FN i96 folded_word(u32 a) { return sub_signed(i96{0, a, 0}, i96{a, 0, 0}); }
RF_FN i96 fold_signed(i96 x) {
    i96 r = add_signed(i96{x.x0, x.x1, 0}, folded_word(x.x2)), sign = folded_word(x.x2 >> 31);
    return sub_signed(r, i96{0, sign.x0, sign.x1});
}
RF_FN i96 fold_signed_32(i96 x) {
    i96 r = add_signed(i96{0, x.x0, 0}, folded_word(x.x1));
    return sub_signed(r, i96{x.x2, 0u - (x.x2 >> 31), 0u - (x.x2 >> 31)});
}
RF_FN i96 fold_signed_64(i96 x) { return sub_signed(folded_word(x.x0), i96{x.x1, x.x2, 0u - (x.x2 >> 31)}); }
RF_FN u64 canonical_folded(i96 x) {
    u64 product = mul_wide(x.x2, 0xffffffffu), sum = join(x.x0, x.x1) + product;
    return sum - (u64)((u32)(sum < product) - 1);
}

RF_FN u32 select(u32 c, u32 yes, u32 no) { return no ^ ((yes ^ no) & (0u - (u32)(c != 0))); }
RF_FN u64 select(u32 c, u64 yes, u64 no) { return no ^ ((yes ^ no) & (0ull - (u64)(c != 0))); }
RF_FN u64 select_negative(u64 c, u64 yes, u64 no) { return no ^ ((yes ^ no) & (0ull - (c >> 63))); }

RF_FN void store_device(void* at, u64 x, u64 y) { *(u64x2*)at = u64x2{x, y}; }

#endif

// in: p.hi < q - 1   out: an integer between -2^65 and 2^64 that is 2^-64 p modulo q.
// Modulo q, 2^-32 = 1 - 2^32 and 2^-64 = -2^32, so p = (hi, l1, l0) leaves hi + l1 - 2^32 (l0 + l1).
RF_FN i96 reduce_signed(u128 p) {
    const u64 h = p.hi + high(p.lo), upper = (u64)high(h) - low(p.lo) - high(p.lo);
    return i96{low(h), low(upper), high(upper)};
}

// Programmatic dependent launch (Source::follows). Waits for the launches before this one and lets the next one start.
// Must precede the kernel's first access to memory. (From sm_90 on; it computes nothing and so has no twin.)
RF_FN void follow() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" : : : "memory");
#endif
}

// Orders a warp's earlier and later accesses to shared memory, next to a vote or a shuffle. (In the portable build, votes
// and shuffles do so themselves.)
RF_FN void order_lanes() {
#if RF_PTX
    asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
#endif
}

// in: x < 2m, m <= 2^63   out: x - m if x >= m, else x
RF_FN u64 sub_once(u64 x, u64 m) {
    u64 t = x - m;
    return select_negative(t, x, t);
}

// ---- carry chains over N 32-bit limbs, least significant first; arrays may be equal but not otherwise overlap ----

#if RF_PTX

// out: r = a + b mod 2^(32 N); returns the carry, 0 or 1
template <u32 N>
RF_FN u32 add_limbs(u32* r, const u32* a, const u32* b) {
    u32 carry;
    asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r[0]) : "r"(a[0]), "r"(b[0]));
    RF_UNROLL
    for (u32 i = 1; i < N; i++) asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r[i]) : "r"(a[i]), "r"(b[i]));
    asm volatile("addc.u32 %0, 0, 0;" : "=r"(carry));
    return carry;
}

// out: r = a - b mod 2^(32 N); returns the borrow, 0 or all ones
template <u32 N>
RF_FN u32 sub_limbs(u32* r, const u32* a, const u32* b) {
    u32 borrow;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r[0]) : "r"(a[0]), "r"(b[0]));
    RF_UNROLL
    for (u32 i = 1; i < N; i++) asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r[i]) : "r"(a[i]), "r"(b[i]));
    asm volatile("subc.u32 %0, 0, 0;" : "=r"(borrow));
    return borrow;
}

// in: carry, 0 or 1   out: r = a + b + carry mod 2^(32 N); returns the new carry, 0 or 1
template <u32 N>
RF_FN u32 add_limbs_from(u32* r, const u32* a, const u32* b, u32 carry) {
    asm volatile("add.cc.u32 %0, %0, 0xffffffff;" : "+r"(carry));
    RF_UNROLL
    for (u32 i = 0; i < N; i++) asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r[i]) : "r"(a[i]), "r"(b[i]));
    asm volatile("addc.u32 %0, 0, 0;" : "=r"(carry));
    return carry;
}

// in: borrow, 0 or all ones   out: r = a - b - 1 mod 2^(32 N) if borrow is set, else a - b; returns the new borrow
template <u32 N>
RF_FN u32 sub_limbs_from(u32* r, const u32* a, const u32* b, u32 borrow) {
    asm volatile("sub.cc.u32 %0, 0, %0;" : "+r"(borrow));
    RF_UNROLL
    for (u32 i = 0; i < N; i++) asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r[i]) : "r"(a[i]), "r"(b[i]));
    asm volatile("subc.u32 %0, 0, 0;" : "=r"(borrow));
    return borrow;
}

// row(a) b is the product of b with every second limb of a (a[0], a[2], …), whose N/2 limb products do not overlap.
// Adding whole rows keeps each limb product in an aligned register pair: one IMAD.WIDE.U32 with carry in and out.

// out: acc += row(a) b, where row(a) has limbs a[0], a[2], …; over += the carry   (N even)
template <u32 N>
RF_FN void row_mad(u32* acc, const u32* a, u32 b, u32& over) {
    asm volatile("mad.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[0]) : "r"(a[0]), "r"(b));
    asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(acc[1]) : "r"(a[0]), "r"(b));
    RF_UNROLL
    for (u32 i = 2; i < N; i += 2) {
        asm volatile("madc.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i]) : "r"(a[i]), "r"(b));
        asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i + 1]) : "r"(a[i]), "r"(b));
    }
    asm volatile("addc.u32 %0, %0, 0;" : "+r"(over));
}

// out: (acc, top, over) += row(a) b, where row(a) has limbs a[0], a[2], …, and top and over are the limbs above acc
//     (N even)
template <u32 N>
RF_FN void row_mad_top(u32* acc, const u32* a, u32 b, u32& top, u32& over) {
    asm volatile("mad.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[0]) : "r"(a[0]), "r"(b));
    asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(acc[1]) : "r"(a[0]), "r"(b));
    RF_UNROLL
    for (u32 i = 2; i < N; i += 2) {
        asm volatile("madc.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i]) : "r"(a[i]), "r"(b));
        asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i + 1]) : "r"(a[i]), "r"(b));
    }
    asm volatile("addc.cc.u32 %0, %0, 0;" : "+r"(top));
    asm volatile("addc.u32 %0, %0, 0;" : "+r"(over));
}

// The step from one limb of a Montgomery product to the next: acc is shifted down by two limbs. The new acc has no limb
// for acc[1], which is added to limb 0 of the other accumulator, one position below the new acc[0].
// out: other0 += acc[1]; then, with the carry of this sum, acc = floor(acc / 2^64) + 2^(32 (N-1)) over + row(a) b; over
//     = the last carry. row(a) has limbs a[0], a[2], …   (N even)
template <u32 N>
RF_FN void row_shift(u32& other0, u32* acc, const u32* a, u32 b, u32& over) {
    asm volatile("add.cc.u32 %0, %0, %1;" : "+r"(other0) : "r"(acc[1]));
    RF_UNROLL
    for (u32 i = 0; i + 2 < N; i += 2) {
        asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(acc[i]) : "r"(a[i]), "r"(b), "r"(acc[i + 2]));
        asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(acc[i + 1]) : "r"(a[i]), "r"(b), "r"(acc[i + 3]));
    }
    asm volatile("madc.lo.cc.u32 %0, %1, %2, 0;" : "=r"(acc[N - 2]) : "r"(a[N - 2]), "r"(b));
    asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(acc[N - 1]) : "r"(a[N - 2]), "r"(b), "r"(over));
    asm volatile("addc.u32 %0, 0, 0;" : "=r"(over));
}

// out: acc += row(a) b, without carry out: the last limb product is added to `end`, the only content of its two limbs
template <u32 N>
RF_FN void row_mad_end(u32* acc, const u32* a, u32 b, u32 end) {
    if constexpr (N == 2) {
        asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(acc[0]) : "r"(a[0]), "r"(b), "r"(end));
        asm volatile("madc.hi.u32 %0, %1, %2, 0;" : "=r"(acc[1]) : "r"(a[0]), "r"(b));
    } else {
        asm volatile("mad.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[0]) : "r"(a[0]), "r"(b));
        asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(acc[1]) : "r"(a[0]), "r"(b));
        RF_UNROLL
        for (u32 i = 2; i + 2 < N; i += 2) {
            asm volatile("madc.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i]) : "r"(a[i]), "r"(b));
            asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i + 1]) : "r"(a[i]), "r"(b));
        }
        asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(acc[N - 2]) : "r"(a[N - 2]), "r"(b), "r"(end));
        asm volatile("madc.hi.u32 %0, %1, %2, 0;" : "=r"(acc[N - 1]) : "r"(a[N - 2]), "r"(b));
    }
}

// out: t = c + the squares of the limbs of a, square i at limb 2 i, < 2^512   (a has 8 limbs, c and t have 16)
RF_FN void square_row(u32* t, const u32* a, const u32* c) {
    asm volatile("mad.lo.cc.u32 %0, %1, %1, %2;" : "=r"(t[0]) : "r"(a[0]), "r"(c[0]));
    asm volatile("madc.hi.cc.u32 %0, %1, %1, %2;" : "=r"(t[1]) : "r"(a[0]), "r"(c[1]));
    RF_UNROLL
    for (u32 i = 1; i < 8; i++) {
        asm volatile("madc.lo.cc.u32 %0, %1, %1, %2;" : "=r"(t[2 * i]) : "r"(a[i]), "r"(c[2 * i]));
        asm volatile("madc.hi.cc.u32 %0, %1, %1, %2;" : "=r"(t[2 * i + 1]) : "r"(a[i]), "r"(c[2 * i + 1]));
    }
}

// out: acc = acc + row(a) b mod 2^(32 N), where row(a) has limbs a[0], a[2], …
template <u32 N>
RF_FN void row_mad_low(u32* acc, const u32* a, u32 b) {
    if constexpr (N == 1) {
        acc[0] += a[0] * b;
    } else {
        asm volatile("mad.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[0]) : "r"(a[0]), "r"(b));
        RF_UNROLL
        for (u32 i = 2; i < N; i += 2) {
            asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i - 1]) : "r"(a[i - 2]), "r"(b));
            asm volatile("madc.lo.cc.u32 %0, %1, %2, %0;" : "+r"(acc[i]) : "r"(a[i]), "r"(b));
        }
        if constexpr (N % 2 == 0) asm volatile("madc.hi.u32 %0, %1, %2, %0;" : "+r"(acc[N - 1]) : "r"(a[N - 2]), "r"(b));
    }
}

#else

template <u32 N>
RF_FN u32 add_limbs_from(u32* r, const u32* a, const u32* b, u32 carry) {
    RF_UNROLL
    for (u32 i = 0; i < N; i++) {
        u64 t = (u64)a[i] + b[i] + carry;
        r[i] = low(t);
        carry = high(t);
    }
    return carry;
}

template <u32 N>
RF_FN u32 sub_limbs_from(u32* r, const u32* a, const u32* b, u32 borrow) {
    RF_UNROLL
    for (u32 i = 0; i < N; i++) {
        u64 t = (u64)a[i] - b[i] + (u64)(i64)(i32)borrow;
        r[i] = low(t);
        borrow = high(t);
    }
    return borrow;
}

template <u32 N>
RF_FN u32 add_limbs(u32* r, const u32* a, const u32* b) {
    return add_limbs_from<N>(r, a, b, 0);
}

template <u32 N>
RF_FN u32 sub_limbs(u32* r, const u32* a, const u32* b) {
    return sub_limbs_from<N>(r, a, b, 0);
}

// out: (lo, hi) = a b + (c0, c1) + carry; returns the carry
RF_FN u32 pair_mad(u32& lo, u32& hi, u32 a, u32 b, u32 c0, u32 c1, u32 carry) {
    u64 p = (u64)a * b;
    u64 t = (u64)low(p) + c0 + carry;
    u64 s = (u64)high(p) + c1 + high(t);
    lo = low(t);
    hi = low(s);
    return high(s);
}

template <u32 N>
RF_FN void row_mad(u32* acc, const u32* a, u32 b, u32& over) {
    u32 carry = 0;
    RF_UNROLL
    for (u32 i = 0; i < N; i += 2) carry = pair_mad(acc[i], acc[i + 1], a[i], b, acc[i], acc[i + 1], carry);
    over += carry;
}

template <u32 N>
RF_FN void row_mad_top(u32* acc, const u32* a, u32 b, u32& top, u32& over) {
    u32 carry = 0;
    row_mad<N>(acc, a, b, carry);
    u64 t = (u64)top + carry;
    top = low(t);
    over += high(t);
}

template <u32 N>
RF_FN void row_shift(u32& other0, u32* acc, const u32* a, u32 b, u32& over) {
    u64 t = (u64)other0 + acc[1];
    u32 carry = high(t);
    other0 = low(t);
    RF_UNROLL
    for (u32 i = 0; i + 2 < N; i += 2)
        carry = pair_mad(acc[i], acc[i + 1], a[i], b, acc[i + 2], acc[i + 3], carry);
    over = pair_mad(acc[N - 2], acc[N - 1], a[N - 2], b, 0, over, carry);
}

template <u32 N>
RF_FN void row_mad_end(u32* acc, const u32* a, u32 b, u32 end) {
    u32 carry = 0;
    RF_UNROLL
    for (u32 i = 0; i + 2 < N; i += 2) carry = pair_mad(acc[i], acc[i + 1], a[i], b, acc[i], acc[i + 1], carry);
    pair_mad(acc[N - 2], acc[N - 1], a[N - 2], b, end, 0, carry);
}

RF_FN void square_row(u32* t, const u32* a, const u32* c) {
    u32 carry = 0;
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) carry = pair_mad(t[2 * i], t[2 * i + 1], a[i], a[i], c[2 * i], c[2 * i + 1], carry);
}

template <u32 N>
RF_FN void row_mad_low(u32* acc, const u32* a, u32 b) {
    u32 carry = 0;
    RF_UNROLL
    for (u32 i = 0; i + 1 < N; i += 2) carry = pair_mad(acc[i], acc[i + 1], a[i], b, acc[i], acc[i + 1], carry);
    if constexpr (N % 2) acc[N - 1] += a[N - 1] * b + carry;
}

#endif

// out: acc = row(a) b, where row(a) has limbs a[0], a[2], …   (N even)
template <u32 N>
RF_FN void row_mul(u32* acc, const u32* a, u32 b) {
    RF_UNROLL
    for (u32 i = 0; i < N; i += 2) {
        u64 p = mul_wide(a[i], b);
        acc[i] = low(p);
        acc[i + 1] = high(p);
    }
}

// out: r = yes if c is not 0, else no
template <u32 N>
RF_FN void select_limbs(u32* r, u32 c, const u32* yes, const u32* no) {
    RF_UNROLL
    for (u32 i = 0; i < N; i++) r[i] = select(c, yes[i], no[i]);
}

}  // namespace rf
