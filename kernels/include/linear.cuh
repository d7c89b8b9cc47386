// Residues of elements times known numbers modulo any q, and their sums: a thread for some neighbouring residues of a row.
#pragma once
#include "divisor256.cuh"
#include "packed.cuh"
#include "spread.cuh"

namespace rf {

// A modulus and known factors from words of a table.
template <class Q>
struct Known;

template <>
struct Known<Divisor> {
    static constexpr u32 words = 3, factor_words = 1;

    RF_FN Divisor modulo(const u64* at) { return Divisor{at[0], at[1], (u32)at[2]}; }
    RF_FN u64 factor(const u64* at) { return at[0]; }
};

template <u32 Bits>
struct Known<Divisor256<Bits>> {
    static constexpr u32 words = 5, factor_words = 20;

    RF_FN Divisor256<Bits> modulo(const u64* at) {
        Divisor256<Bits> q;
        limbs(q.q, at);
        q.ratio = at[4];
        return q;
    }
    RF_FN typename Divisor256<Bits>::Factor factor(const u64* at) {
        typename Divisor256<Bits>::Factor c;
        RF_UNROLL
        for (u32 i = 0; i < 5; i++) limbs(c.part[i].limb, at + 4 * i);
        return c;
    }

  private:
    RF_FN void limbs(u32* to, const u64* at) {
        RF_UNROLL
        for (u32 i = 0; i < 4; i++) to[2 * i] = low(at[i]), to[2 * i + 1] = high(at[i]);
    }
};

// The generated struct L: rows of L::n residues L::Store modulo L::Q, L::lanes of them a thread; for term i of the sum,
// L::times(i) says what it is times. The table has, for each row, the modulus and a factor for each term.
template <class L>
struct Lanes {
    using Residue = typename L::Q::Residue;

    Units<L::threads> at;
    u32 row;
    u32 start;  // the first of the thread's residues in its row
    typename L::Q q;
    const u64* factors;

    RF_METHOD Lanes(const u64* table, u64 units, u64 first, u64 end) : at(first, end, (u32)units) {
        constexpr u32 each = L::n / L::lanes;
        row = at.unit / each;
        start = at.unit % each * L::lanes;
        if (!at.live) return;
        using K = Known<typename L::Q>;
        const u64* known = table + row * (K::words + L::terms * K::factor_words);
        q = K::modulo(known);
        factors = known + K::words;
    }
    // Calls `put` with each of the thread's residues of an element, times what term I is times.
    template <u32 I, class Put>
    RF_METHOD void load(const typename L::Store* from, u64 distance, Put put) const {
        auto c = factor<I>();
        Access::template load<Residue>(from + offset(distance, start),
                                       [&](u32 v, Residue x) { put(v, times<L::times(I)>(q, x, c)); });
    }
    // out: a residue of the thread's row, times what term I is times
    template <u32 I>
    RF_METHOD Residue load_one(const typename L::Store* from, u64 distance, u32 place) const {
        return times<L::times(I)>(q, from[offset(distance, place)], factor<I>());
    }
    RF_METHOD void store(typename L::Store* to, u64 distance, const Residue* x) const {
        Access::store(to + offset(distance, start), [&](u32 v) { return (typename L::Store)x[v]; });
    }

  private:
    using Access = Move<typename L::Store, L::lanes, L::lanes * sizeof(typename L::Store)>;

    template <u32 I>
    RF_METHOD typename L::Q::Factor factor() const {
        using K = Known<typename L::Q>;
        typename L::Q::Factor c{};
        if constexpr (L::times(I) == Times::factor) c = K::factor(factors + I * K::factor_words);
        return c;
    }
    RF_METHOD u64 offset(u64 distance, u32 place) const { return at.item * distance + (u64)row * L::n + place; }
};

}  // namespace rf
