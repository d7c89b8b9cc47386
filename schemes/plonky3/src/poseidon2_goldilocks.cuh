// Poseidon2's arithmetic modulo 2^64 - 2^32 + 1. Sums of a layer have a third limb, and are reduced once.
#pragma once
#include "goldilocks.cuh"
#include "poseidon2.cuh"

namespace poseidon2 {

struct FieldGoldilocks {
    using Word = u64;
    struct Sum {  // < 2^72
        u32 limb[3];
    };

    RF_METHOD static constexpr rf::Goldilocks modulus() { return {0xffffffff00000001ull}; }

    // in: any x   out: x, < q
    RF_METHOD static Word canonical(Word x) { return modulus().reduce_any(x); }
    RF_METHOD static Sum widen(Word x) { return {{rf::low(x), rf::high(x), 0}}; }
    RF_METHOD static Sum add(const Sum& a, const Sum& b) {
        Sum sum;
        rf::add_limbs<3>(sum.limb, a.limb, b.limb);
        return sum;
    }
    // out: x, < q   (2^64 = 2^32 - 1)
    RF_METHOD static Word narrow(const Sum& x) {
        return modulus().add(rf::join(x.limb[0], x.limb[1]), rf::mul_wide(x.limb[2], 0xffffffffu));
    }

    // in: any p   out: p   (lo + 2^64 mid + 2^96 top is lo - top + (2^32 - 1) mid; what is carried out of that is 2^32 - 1 again)
    RF_METHOD static Word reduce(rf::u128 p) {
        const u64 rest = modulus().sub<1>(p.lo, rf::high(p.hi));
        u32 sum[2] = {rf::low(rest), rf::high(rest)}, middle[2] = {rf::low(p.hi), 0}, over = 0;
        rf::row_mad<2>(sum, middle, 0xffffffffu, over);
        return rf::mad_wide(over, 0xffffffffu, rf::join(sum[0], sum[1]));
    }
    RF_METHOD static Word product(Word a, Word b) { return reduce(rf::mad_wide(a, b, rf::u128{0, 0})); }

    // in: constant < q   out: (x + constant)^degree
    template <u32 degree>
    RF_METHOD static Word power(Word x, Word constant) {
        static_assert(degree == 7, "the S-box of Goldilocks");
        const Word sum = modulus().add(x, constant), cube = product(product(sum, sum), sum);
        return product(product(cube, cube), sum);
    }

    // out: x[i] d + the sum of all, < q, for each element and its d
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
