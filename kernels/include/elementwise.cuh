// Element-wise kernels on residues modulo any q: a thread computes some neighbouring residues of a limb.
#pragma once
#include "epilogue.cuh"
#include "spread.cuh"

namespace rf {

// The generated struct T: limbs of T::n residues, T::lanes of them per thread, which divide n. E is the generated struct
// `Epilogue` (`epilogue.cuh`), which has the moduli and the expression.
template <class T, class E>
struct Elementwise {
    using Store = typename E::Store;
    using Residue = typename E::Q::Residue;

    Units<T::threads> at;
    u32 limb;
    u32 start;  // the first of the thread's residues in its limb

    RF_METHOD Elementwise(u64 units, u64 first, u64 end)
        : at(first, end, (u32)units), limb(at.unit / each), start(at.unit % each * T::lanes) {}
    // in: residues from an item to the next, a place in the limb   out: residues from item 0 to that place
    RF_METHOD u64 offset(u64 stride, u32 place) const { return at.item * stride + (u64)limb * T::n + place; }
    // Calls load(multiples, x), which fills x with the thread's residues, < q. Stores what the expression makes of them.
    template <class Load>
    RF_METHOD void store(Store* out, u64 stride, const E& epilogue, Load load) const {
        const auto ending = epilogue.of_row(limb, [&](u64 apart) { return offset(apart, start); });
        Residue x[T::lanes];
        load(ending.multiples, x);
        store_run<T::lanes, bytes>(ending, out + offset(stride, start), 0, [&](u32 v) { return x[v]; });
    }

    static constexpr u32 bytes = T::lanes * sizeof(Store);

  private:
    static constexpr u32 each = T::n / T::lanes;
};

}  // namespace rf
