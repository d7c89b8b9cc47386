// Poseidon2's arithmetic modulo q = 2^64 - 2^32 + 1. A 64-bit word represents its residue and is reduced below q only
// when it is stored. Sums in a linear layer have a third limb and are reduced to a word once.
#pragma once
#include "goldilocks.cuh"
#include "poseidon2.cuh"

namespace poseidon2 {

struct FieldGoldilocks {
    using Word = u64;
    struct Sum {  // < 2^72
        u32 limb[3];
    };

    // in: any x   out: the same residue, < q
    RF_METHOD static Word canonical(Word x) { return rf::Goldilocks{0xffffffff00000001ull}.reduce_any(x); }
    RF_METHOD static Word of(u64 x) { return x; }
    RF_METHOD static u64 residue(Word x) { return canonical(x); }
    RF_METHOD static Sum widen(Word x) { return {{rf::low(x), rf::high(x), 0}}; }
    RF_METHOD static Sum add(const Sum& a, const Sum& b) {
        Sum sum;
        rf::add_limbs<3>(sum.limb, a.limb, b.limb);
        return sum;
    }
    // Reduces a sum to a word of the same residue, by 2^64 = 2^32 - 1 modulo q.
    RF_METHOD static Word narrow(const Sum& x) {
        return sum_of_reduced(rf::join(x.limb[0], x.limb[1]), rf::mul_wide(x.limb[2], 0xffffffffu));
    }
    // in: any word a; b < q   out: a word congruent to a + b. A carry is worth 2^32 - 1, and adding that does not carry
    // again.
    RF_METHOD static Word sum_of_reduced(Word a, Word b) {
        u32 sum[2] = {rf::low(a), rf::high(a)};
        const u32 other[2] = {rf::low(b), rf::high(b)};
        const u32 over = rf::add_limbs<2>(sum, sum, other);
        return rf::join(sum[0], sum[1]) + (0u - over);
    }
    // in: any words   out: a word congruent to a + b
    RF_METHOD static Word sum(Word a, Word b) { return sum_of_reduced(a, canonical(b)); }
    // Reduces any 128-bit p to a word of the same residue. p = lo + 2^64 mid + 2^96 top is congruent to lo - top +
    // (2^32 - 1) mid. This sum borrows or carries 2^64 at most once, which is corrected by 2^32 - 1.
    RF_METHOD static Word reduce(rf::u128 p) {
        u32 sum[2] = {rf::low(p.lo), rf::high(p.lo)};
        const u32 top[2] = {rf::high(p.hi), 0}, middle[2] = {rf::low(p.hi), 0};
        u32 over = rf::sub_limbs<2>(sum, sum, top);  // borrow: 0 or -1
        rf::row_mad<2>(sum, middle, 0xffffffffu, over);
        return rf::join(sum[0], sum[1]) + ((u64)over << 32) - (u64)(rf::i64)(rf::i32)over;
    }
    using Factor = u64;
    RF_METHOD static constexpr Factor factor(u64 d) { return d; }
    RF_METHOD static Word times(Word x, Factor d) { return product(x, d); }
    RF_METHOD static Word product(Word a, Word b) { return reduce(rf::mad_wide(a, b, rf::u128{0, 0})); }

    // in: any x, constant < q   out: a word congruent to (x + constant)^degree
    template <u32 degree>
    RF_METHOD static Word power(Word x, Word constant) {
        static_assert(degree == 7, "the S-box degree of Goldilocks must be 7");
        const Word y = sum_of_reduced(x, constant), cube = product(product(y, y), y);
        return product(product(cube, cube), y);
    }

    // Internal linear layer: x[i] = d_i x[i] + sum(x), where d_i is entry i of the diagonal.
    template <class Hash>
    RF_METHOD static void internal_layer(Word* x) {
        Sum sum = widen(x[0]);
        RF_UNROLL
        for (u32 i = 1; i < Hash::width; ++i) sum = add(sum, widen(x[i]));
        const rf::u128 all{rf::join(sum.limb[0], sum.limb[1]), sum.limb[2]};
        RF_UNROLL
        for (u32 i = 0; i < Hash::width; ++i) x[i] = reduce(rf::mad_wide(x[i], Hash::diagonal(i), all));
    }
};

}  // namespace poseidon2
