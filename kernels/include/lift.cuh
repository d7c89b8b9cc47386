// Products via a larger NTT: conversions between one limb of a ring and the auxiliary ring in which its products are
// computed (zero-padded, multi-modular, CRT). L is a generated struct. The limb's residues are L::Store in memory and
// L::Residue in registers; residues modulo the L::primes auxiliary primes are L::Word. The limb has L::n coefficients,
// an auxiliary limb L::length.
#pragma once
#include "crt.cuh"
#include "stored.cuh"

namespace rf {

// in: a residue < q of the ring's input, or any word if `any_word<L>`   out: the residue, < q
template <class L>
RF_FN typename L::Residue input_of(typename L::Residue x) {
    if constexpr (any_word<L>) return L::modulo().mul(x, L::one());
    else return x;
}

// in: x < q   out: x, or x - q if x > L::half(), modulo auxiliary prime j
template <class L>
RF_FN typename L::Word lifted(typename L::Residue x, u32 j) {
    u64 correction = select(is_above(x, L::half()), L::minus_q(j), 0ull);
    // q <= p: adding p - q to x > q / 2 needs no reduction
    if constexpr (L::below_primes) return (typename L::Word)x + (typename L::Word)correction;
    else return (typename L::Word)sub_once(remainder(x, L::divider(j)) + correction, (u64)L::prime(j).q);
}

// in: the residues of an item's product, L::length for each prime.
// out: coefficient i of the product modulo f = x^n - c1 x - c0, where L::c0 and L::c1 are -1, 0 or 1.
// The reduction modulo f is applied to the residues, so that only one integer is rebuilt. The product has L::high
// coefficients above x^(n-1).
template <class L>
RF_FN typename L::Residue folded(const typename L::Word* product, u32 i) {
    return rebuild<L>([&](u32 j) {
        auto p = L::prime(j);
        const auto* x = product + (u64)j * L::length + i;
        auto sum = x[0];
        // x^(n + i) is c0 x^i + c1 x^(i + 1)
        if (L::c0 != 0 && i < L::high) sum = L::c0 > 0 ? p.add(sum, x[L::n]) : p.template sub<1>(sum, x[L::n]);
        if (L::c1 != 0 && i - 1 < L::high) sum = L::c1 > 0 ? p.add(sum, x[L::n - 1]) : p.template sub<1>(sum, x[L::n - 1]);
        return p.template canonical<1 + (L::c0 != 0) + (L::c1 != 0)>(sum);
    });
}

// in: the item's first residue; the index j of a coefficient and the coefficient x < q
// Stores x as coefficient j of limb L::row. If L::clears, coefficient j of every other limb is set to zero; else other
// limbs are unchanged.
template <class L>
RF_FN void store_coefficient(typename L::Store* item, u32 j, typename L::Store x) {
    if constexpr (L::clears) {
        for (u32 row = 0; row < L::rows; row++) item[(u64)row * L::n + j] = row == L::row ? x : typename L::Store{};
    } else {
        item[(u64)L::row * L::n + j] = x;
    }
}

}  // namespace rf
