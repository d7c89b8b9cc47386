// Residues of elements, their sums and their multiples modulo any q: a thread for some neighbouring residues of a row.
#pragma once
#include "multiples.cuh"
#include "packed.cuh"
#include "spread.cuh"

namespace rf {

// The generated struct L: rows of L::n residues L::Store, L::lanes of them a thread; one stage of Multiples, in which term i of
// a sum has the sign that L::minus(i) says.
template <class L>
struct Lanes {
    using Residue = typename L::Q::Residue;

    Units<L::threads> at;
    u32 row;
    u32 start;  // the first of the thread's residues in its row
    Multiples<L> multiples;

    RF_METHOD Lanes(const u64* table, u64 units, u64 first, u64 end)
        : at(first, end, (u32)units), row(at.unit / each), start(at.unit % each * L::lanes), multiples(table, row) {}
    // Calls `put` with each of the thread's residues of an element.
    template <class Put>
    RF_METHOD void load(const typename L::Store* from, u64 distance, Put put) const {
        Move<typename L::Store, L::lanes, bytes>::template load<Residue>(
            from + offset(distance, start), [&](u32 v, Residue x) { put(v, multiples.reduced(x)); });
    }
    // out: a residue of the thread's row
    RF_METHOD Residue load_one(const typename L::Store* from, u64 distance, u32 place) const {
        return multiples.reduced(from[offset(distance, place)]);
    }
    // Stores the thread's residues, times their factor.
    template <class Epilogue>
    RF_METHOD void store(typename L::Store* to, u64 distance, Residue* x, const Epilogue& epilogue) const {
        multiples.template times<0, L::lanes>(x);
        auto ending = epilogue.of_row(row, [&](u64 apart) { return offset(apart, start); });
        store_run<L::lanes, bytes>(ending, to + offset(distance, start), 0, [&](u32 v) { return (typename L::Store)x[v]; });
    }

  private:
    static constexpr u32 each = L::n / L::lanes, bytes = L::lanes * sizeof(typename L::Store);

    RF_METHOD u64 offset(u64 distance, u32 place) const { return at.item * distance + (u64)row * L::n + place; }
};

}  // namespace rf
