// Arithmetic of a prover: the base field and the extension F[x] / (x^D - W). All words are canonical, and those of 31-bit
// fields are in Montgomery form with R = 2^32.
#pragma once
#include "goldilocks.cuh"
#include "mod31.cuh"

// Between two parts of a kernel: the compiler reads memory again after it.
#ifdef __CUDA_ARCH__
#define STARK_APART() asm volatile("" ::: "memory")
#else
#define STARK_APART() ((void)0)
#endif

namespace stark {

using namespace rf;

// out: x, of which the compiler knows nothing. It follows the bounds of sums through all their operands, each of which a
// reduction uses twice, so a chain of n sums would take time 2^n.
RF_FN u32 opaque(u32 x) {
#ifdef __CUDA_ARCH__
    asm("" : "+r"(x));
#endif
    return x;
}
RF_FN u64 opaque(u64 x) {
#ifdef __CUDA_ARCH__
    asm("" : "+l"(x));
#endif
    return x;
}

// inverse: 1 / q mod 2^32
template <u32 q, u32 inverse, u32 one_word>
struct Field31 {
    using Word = u32;

    RF_METHOD static Word one() { return one_word; }
    // in: a, b < q   out: < q, as for all functions
    RF_METHOD static Word add(Word a, Word b) { return opaque(sub_once(a + b, q)); }
    RF_METHOD static Word sub(Word a, Word b) { return opaque(min_word(a - b, a - b + q)); }
    RF_METHOD static Word mul(Word a, Word b) { return Mod31{q, 0, inverse, 0}.mul_montgomery(a, b); }
    RF_METHOD static Word half(Word a) { return (a >> 1) + (a & 1 ? (q + 1) / 2 : 0); }
    // The sum of four products, which one word of 64 bits holds before it is reduced.
    RF_METHOD static Word dot(const Word* a, const Word* b) {
        u64 sum = 0;
        RF_UNROLL
        for (u32 i = 0; i < 4; i++) sum += (u64)a[i] * b[i];  // sum: < 4 q^2 < 2^64
        const u32 high = sub_once((u32)(sum >> 32), q);       // before: < 4 q^2 / 2^32 < 2 q
        const u32 low = (u32)(((u64)((u32)sum * inverse) * q) >> 32);
        return opaque(min_word(high - low, high - low + q));
    }
    RF_CONST u64 modulus() { return q; }
};

struct Goldilocks64 {
    using Word = u64;

    RF_METHOD static Goldilocks field() { return Goldilocks{0xffffffff00000001ull}; }
    RF_METHOD static Word one() { return 1; }
    RF_METHOD static Word add(Word a, Word b) { return opaque(field().add(a, b)); }
    RF_METHOD static Word sub(Word a, Word b) { return opaque(field().sub<1>(a, b)); }
    RF_METHOD static Word mul(Word a, Word b) { return field().mul_plain(a, b); }
    RF_METHOD static Word half(Word a) { return (a >> 1) + (a & 1 ? 0x7fffffff80000001ull : 0); }
    RF_METHOD static Word dot(const Word* a, const Word* b) {
        return add(add(mul(a[0], b[0]), mul(a[1], b[1])), add(mul(a[2], b[2]), mul(a[3], b[3])));
    }
    RF_CONST u64 modulus() { return 0xffffffff00000001ull; }
};

// out: 1 / a, 0 for 0
template <class F>
RF_FN typename F::Word inverse_of(typename F::Word a) {
    typename F::Word r = F::one();
    RF_LOOP
    for (u32 i = 64; i-- > 0;) {
        r = F::mul(r, r);
        if ((F::modulus() - 2) >> i & 1) r = F::mul(r, a);
    }
    return r;
}

// An element c[0] + c[1] x + … of the extension.
template <class F, u32 D, u64 W>
struct Extension {
    using Word = typename F::Word;
    Word c[D];

    RF_METHOD static Extension zero() {
        Extension r;
        RF_UNROLL
        for (u32 i = 0; i < D; i++) r.c[i] = 0;
        return r;
    }
    RF_METHOD static Extension of(Word a) {
        Extension r = zero();
        r.c[0] = a;
        return r;
    }
    RF_METHOD static Extension load(const Word* at) {
        Extension r;
        RF_UNROLL
        for (u32 i = 0; i < D; i++) r.c[i] = at[i];
        return r;
    }
    RF_METHOD void store(Word* at) const {
        RF_UNROLL
        for (u32 i = 0; i < D; i++) at[i] = c[i];
    }
    RF_METHOD Extension add(const Extension& b) const {
        Extension r;
        RF_UNROLL
        for (u32 i = 0; i < D; i++) r.c[i] = F::add(c[i], b.c[i]);
        return r;
    }
    RF_METHOD Extension sub(const Extension& b) const {
        Extension r;
        RF_UNROLL
        for (u32 i = 0; i < D; i++) r.c[i] = F::sub(c[i], b.c[i]);
        return r;
    }
    RF_METHOD Extension times(Word b) const {
        Extension r;
        RF_UNROLL
        for (u32 i = 0; i < D; i++) r.c[i] = F::mul(c[i], b);
        return r;
    }
    RF_METHOD Extension half() const {
        Extension r;
        RF_UNROLL
        for (u32 i = 0; i < D; i++) r.c[i] = F::half(c[i]);
        return r;
    }
    RF_METHOD Extension mul(const Extension& b) const {
        Extension r;
        RF_UNROLL
        for (u32 k = 0; k < D; k++) {
            Word low = 0, high = 0;
            RF_UNROLL
            for (u32 i = 0; i < D; i++) {
                const Word p = F::mul(c[i], b.c[(k + D - i) % D]);
                if (i <= k) low = F::add(low, p);
                else high = F::add(high, p);
            }
            r.c[k] = k + 1 < D ? F::add(low, F::mul(high, (Word)W)) : low;
        }
        return r;
    }
    // out: 1 / this, by norms to the subfields
    RF_METHOD Extension inverse() const {
        static_assert(D == 2 || D == 4, "the degree of the extension must be 2 or 4");
        Extension r = *this;
        if constexpr (D == 2) {
            const Word norm = F::sub(F::mul(c[0], c[0]), F::mul(F::mul(c[1], c[1]), (Word)W));
            r.c[1] = F::sub(0, c[1]);
            return r.times(inverse_of<F>(norm));
        } else {
            // conjugates under x -> -x; their product is n[0] + n[1] y with y = x^2 and y^2 = W
            r.c[1] = F::sub(0, c[1]), r.c[3] = F::sub(0, c[3]);
            const Extension product = mul(r);
            const Word n0 = product.c[0], n1 = product.c[2];
            const Word norm = F::sub(F::mul(n0, n0), F::mul(F::mul(n1, n1), (Word)W)), inverse = inverse_of<F>(norm);
            Extension other = zero();
            other.c[0] = F::mul(n0, inverse), other.c[2] = F::sub(0, F::mul(n1, inverse));
            return r.mul(other);
        }
    }
};

// out: x of row r of a coset in bit-reversed order.   points: the shift; 1 / h; h; and for each bit of r its factor
template <class F>
RF_FN typename F::Word point_of(const typename F::Word* points, u64 r, u32 bits) {
    typename F::Word x = points[0];
    RF_LOOP
    for (u32 i = 0; i < bits; i++)
        if (r >> i & 1) x = F::mul(x, points[3 + i]);
    return x;
}

}  // namespace stark
