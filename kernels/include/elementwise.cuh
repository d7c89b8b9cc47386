// Element-wise kernels on residues modulo any q: each thread computes a few adjacent residues of one limb.
#pragma once
#include "epilogue.cuh"
#include "spread.cuh"

namespace rf {

// T is a generated struct: limbs have T::n residues, and a thread computes T::lanes of them, a divisor of T::n. E is
// the generated struct `Epilogue` (`epilogue.cuh`), which has the moduli and the fused steps.
template <class T, class E>
struct Elementwise {
    using Store = typename E::Store;
    using Residue = typename E::Q::Residue;

    Units<T::threads> at;
    u32 limb;
    u32 start;  // index in the limb of the thread's first residue

    RF_METHOD Elementwise(u64 units, u64 first, u64 end)
        : at(first, end, (u32)units), limb(at.unit / each), start(at.unit % each * T::lanes) {}
    // in: the stride between items, in residues; an index in the thread's limb
    // out: the offset of that residue of the thread's item, in residues from item 0
    RF_METHOD u64 offset(u64 stride, u32 place) const { return at.item * stride + (u64)limb * T::n + place; }
    // Calls load(multiples, x) with the epilogue's `Multiples` (multiples.cuh); it must fill x with the thread's
    // residues, < q. Then applies the epilogue's steps to x and stores the results.
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
