// Linear combinations of elements: sums, differences, and multiples by a constant for each limb.
//
// Roofline bound: memory. Every residue of the elements is read once, and every residue of the result is written once.
#include "elementwise.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void combine(const Epilogue::Store* in, Epilogue::Store* out, Epilogue epilogue, u64 units, u64 in_stride,
                                   u64 out_stride, u64 first, u64 end) {
    using E = Elementwise<Elements, Epilogue>;
    E element(units, first, end);
    if (!element.at.live) return;
    element.store(out, out_stride, epilogue, [&](const auto& multiples, E::Residue* x) {
        Move<E::Store, Elements::lanes, E::bytes>::template load<E::Residue>(
            in + element.offset(in_stride, element.start), [&](u32 v, E::Residue word) { x[v] = multiples.reduced(word); });
    });
}
