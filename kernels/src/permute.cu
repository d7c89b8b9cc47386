// Permutes the residues of every limb and negates some of them, as the automorphisms x -> x^k do.
//
// Roofline bound: memory. Every residue is read and written once; reads are scattered within a limb.
#include "elementwise.cuh"
#include "prelude.cuh"
using namespace rf;

// The lower 31 bits of places[i] are the index from which residue i is taken; the top bit says whether it is negated.
extern "C" __global__ void permute(const Epilogue::Store* in, const u32* places, Epilogue::Store* out, Epilogue epilogue,
                                   u64 units, u64 in_stride, u64 out_stride, u64 first, u64 end) {
    using E = Elementwise<Elements, Epilogue>;
    E element(units, first, end);
    if (!element.at.live) return;
    element.store(out, out_stride, epilogue, [&](const auto& multiples, E::Residue* x) {
        RF_UNROLL
        for (u32 v = 0; v < Elements::lanes; v++) {
            const u32 place = places[element.start + v];
            // clamped, because a pipeline may bind any bytes to this port
            const u32 from = min_word(place & 0x7fffffffu, Elements::n - 1);
            x[v] = multiples.reduced(in[element.offset(in_stride, from)]);
            if (place >> 31) x[v] = multiples.q.negate(x[v]);
        }
    });
}
