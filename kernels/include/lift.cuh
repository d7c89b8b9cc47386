// Between a row of a ring and an auxiliary ring that its products go through. L is generated: the row's residues are
// L::Store in memory and L::Residue in registers, those modulo its L::primes primes are L::Word, and a row has L::n
// coefficients, an auxiliary one L::length.
#pragma once
#include "crt.cuh"
#include "stored.cuh"

namespace rf {

// in: a word as inputs of the ring have it   out: the residue, < q
template <class L>
RF_FN typename L::Residue input_of(typename L::Residue x) {
    if constexpr (any_word<L>) return L::modulo().mul(x, L::one());
    else return x;
}

// in: x < q   out: its centred representative modulo prime number j
template <class L>
RF_FN typename L::Word lifted(typename L::Residue x, u32 j) {
    u64 correction = select(is_above(x, L::half()), L::minus_q(j), 0ull);
    // q <= p: what is above q / 2 moves by p - q
    if constexpr (L::below_primes) return (typename L::Word)x + (typename L::Word)correction;
    else return (typename L::Word)sub_once(remainder(x, L::divider(j)) + correction, (u64)L::prime(j).q);
}

// in: the residues of an item's product, L::length for each prime   out: coefficient i, folded where x^n is L::c0 + L::c1 x, each
// of them -1, 0 or 1: residues are summed, then there is one integer to rebuild. L::high coefficients come above x^(n-1).
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

// in: the item's elements, the coefficient's number, and its value x < q; the rows before this one stay
template <class L>
RF_FN void store_coefficient(typename L::Store* item, u32 j, typename L::Store x) {
    if constexpr (L::clears) {
        for (u32 row = 0; row < L::rows; row++) item[(u64)row * L::n + j] = row == L::row ? x : typename L::Store{};
    } else {
        item[(u64)L::row * L::n + j] = x;
    }
}

}  // namespace rf
