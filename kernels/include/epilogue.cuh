// Epilogues: element-wise steps that a kernel applies to residues just before it stores them, which saves a pass over
// memory.
#pragma once
#include "multiples.cuh"
#include "packed.cuh"

namespace rf {

// Applies the steps of E, the generated struct `Epilogue`, to one limb. E has the table and the stages of `Multiples`
// (multiples.cuh), for residues of type E::Store in memory. Stage i first adds the next of the E::operands operands, if
// E::adds(i). E::minus(i, 0) says whether the stage negates the kernel's result, and E::minus(i, 1) whether it negates
// the operand. Operands have separate strides between items.
template <class E>
struct Ending {
    using Store = typename E::Store;
    using Residue = typename E::Q::Residue;
    static constexpr bool plain = false;
    static constexpr u32 operand_bytes = E::operands * sizeof(Store);

    Multiples<E> multiples;
    const Store* operand[E::operands + 1];

    // in: the limb's index in the item; a function offset(stride), which returns the limb's offset, in residues, in an
    //     operand whose items have this stride
    template <class Offset>
    RF_METHOD Ending(const E& e, u32 row, Offset offset) : multiples(e.table, row) {
        if constexpr (E::operands > 0) {
            RF_UNROLL
            for (u32 i = 0; i < E::operands; i++) operand[i] = e.operand[i] + offset(e.distance[i]);
        }
    }
    // Count residues of each operand, in registers.
    template <u32 Count>
    struct Operands {
        Store x[E::operands + 1][Count];
    };

    template <u32 Count, u32 Align>
    RF_METHOD Operands<Count> load(i64 at) const {
        Operands<Count> operands;
        RF_UNROLL
        for (u32 i = 0; i < E::operands; i++)
            Move<Store, Count, Align>::template load<Store>(operand[i] + at, [&](u32 v, Store x) { operands.x[i][v] = x; });
        return operands;
    }
    // Applies the steps to the canonical residues get(0) to get(Count - 1) and to the operands, and stores the results
    // from row[at] on.
    template <u32 Count, u32 Align, bool Device = false, class Get>
    RF_METHOD void store(Store* row, i64 at, const Operands<Count>& operands, Get get) const {
        Residue x[Count];
        RF_UNROLL
        for (u32 v = 0; v < Count; v++) x[v] = element_of<Store>(get(v));
        stages<0, 0, Count>(x, operands);
        Move<Store, Count, Align>::template store<Device>(row + at, [&](u32 v) { return (Store)x[v]; });
    }

  private:
    template <u32 I, u32 Operand, u32 Count>
    RF_METHOD void stages(Residue* x, const Operands<Count>& operands) const {
        if constexpr (I < E::stages) {
            const auto& q = multiples.q;
            RF_UNROLL
            for (u32 v = 0; v < Count; v++) {
                if constexpr (E::adds(I)) {
                    Residue y = multiples.reduced(operands.x[Operand][v]);
                    if constexpr (E::minus(I, 0) && E::minus(I, 1)) x[v] = q.negate(q.add(x[v], y));
                    else if constexpr (E::minus(I, 0)) x[v] = q.sub(y, x[v]);
                    else if constexpr (E::minus(I, 1)) x[v] = q.sub(x[v], y);
                    else x[v] = q.add(x[v], y);
                } else if constexpr (E::minus(I, 0)) {
                    x[v] = q.negate(x[v]);
                }
            }
            multiples.template times<I, Count>(x);
            stages<I + 1, Operand + E::adds(I), Count>(x, operands);
        }
    }
};

}  // namespace rf
