// Poseidon2's arithmetic modulo a 31-bit prime q, in Montgomery form with R = 2^32, by signed Montgomery products.
//
// Round constants are stored minus q, as signed words, so that x + constant stays below q in absolute value. The signed
// products accept these sums unreduced, and only the last product of an S-box is made canonical.
#pragma once
#include "poseidon2.cuh"

namespace poseidon2 {

// inverse: 1 / q mod 2^32
template <u32 q, u32 inverse>
struct Field31 {
    using Word = u32;
    using Sum = u32;  // < q

    RF_METHOD static Word canonical(Word x) { return x; }
    // in: x < q   out: x in Montgomery form
    RF_METHOD static Word of(u64 x) {
        constexpr u64 r = (1ull << 32) % q;
        const u32 y = (u32)product((rf::i32)x, (rf::i32)(r * r % q));
        return rf::min_word(y, y + q);
    }
    // in: x in Montgomery form   out: x, < q
    RF_METHOD static u64 residue(Word x) {
        const u32 y = (u32)product((rf::i32)x, 1);
        return rf::min_word(y, y + q);
    }
    RF_METHOD static Sum widen(Word x) { return x; }
    RF_METHOD static Sum add(Sum a, Sum b) { return rf::sub_once(a + b, q); }
    RF_METHOD static Word narrow(Sum x) { return x; }
    RF_METHOD static Word sum(Word a, Word b) { return add(a, b); }

    // A constant factor d, and floor(2^32 d / q) for Shoup multiplication.
    struct Factor {
        u32 d, quotient;
    };
    RF_METHOD static constexpr Factor factor(u64 d) { return {(u32)d, (u32)((d << 32) / q)}; }
    RF_METHOD static Word times(Word x, Factor f) { return rf::sub_once(x * f.d - rf::mul_hi(x, f.quotient) * q, q); }

    // Montgomery product of signed words.
    // in: |a b| <= q^2   out: a b / R, below q in absolute value
    RF_METHOD static rf::i32 product(rf::i32 a, rf::i32 b) {
        const rf::i64 wide = rf::mul_signed(a, b);
        return (rf::i32)(wide >> 32) - rf::mul_hi_signed((rf::i32)((u32)wide * inverse), (rf::i32)q);
    }

    // in: x < q, and constant = the round constant - q   out: (x + constant)^degree, < q
    template <u32 degree>
    RF_METHOD static Word power(Word x, Word constant) {
        static_assert(degree == 3 || degree == 7, "the S-box degree must be 3 (KoalaBear) or 7 (BabyBear)");
        const rf::i32 sum = (rf::i32)(x + constant);
        rf::i32 y = product(product(sum, sum), sum);
        if constexpr (degree == 7) y = product(product(y, y), sum);
        return rf::min_word((u32)y, (u32)y + q);
    }

    // in: x < q   out: n x mod q for a small n >= 1
    template <u32 n>
    RF_METHOD static Word multiple(Word x) {
        if constexpr (n == 1) {
            return x;
        } else {
            const Word twice = multiple<n / 2>(add(x, x));
            return n % 2 == 0 ? twice : add(twice, x);
        }
    }

    // Internal linear layer: x[i] = d_i x[i] + sum(x), where d_i is entry i of the diagonal.   out: < q
    //
    // If d_i or -d_i is 1/2 or at most 4, sums take less time than products. Other d_i are multiplied by Shoup's method
    // with a shared sum: (d_i x[i] + sum) / q is estimated by two precomputed quotients. The estimate of d_i x[i] / q is
    // off by less than 1/2, that of sum / q by less than 1/8. The total of both is rounded down, so the remainder is
    // below 2q, and the sum needs no reduction.
    template <class Hash>
    RF_METHOD static void internal_layer(Word* x) {
        static_assert(Hash::width <= 32 && Hash::width % 2 == 0, "an even width up to 32 keeps the sum below 2^36");
        u64 sum = 0;
        RF_UNROLL
        for (u32 i = 0; i < Hash::width; i += 2) sum += x[i] + x[i + 1];
        const u64 quotient = rf::mul_wide((u32)(sum >> 8), (u32)((1ull << 40) / q));  // in units of 2^-32
        const Word all = rf::sub_once(rf::low(sum) - rf::high(quotient) * q, q);
        RF_UNROLL
        for (u32 i = 0; i < Hash::width; ++i) {
            const u32 d = (u32)Hash::diagonal(i), absolute = d < q - d ? d : q - d, of_d = (u32)(((u64)d << 32) / q);
            if (absolute > 4 && absolute != q / 2) {
                x[i] = rf::sub_once(x[i] * d + rf::low(sum) - rf::high(rf::mad_wide(x[i], of_d, quotient)) * q, q);
                continue;
            }
            const Word half = (x[i] >> 1) + (x[i] & 1) * ((q + 1) / 2);
            const Word y = absolute == q / 2 ? half
                           : absolute == 1   ? x[i]
                           : absolute == 2   ? multiple<2>(x[i])
                           : absolute == 3   ? multiple<3>(x[i])
                                             : multiple<4>(x[i]);
            const bool positive = absolute == q / 2 ? d > q / 2 : d == absolute;
            x[i] = positive ? add(all, y) : rf::min_word(all - y, all - y + q);
        }
    }
};

}  // namespace poseidon2
