// Residues of every row in another order, some with the other sign, as automorphisms x -> x^k have them.
//
// Floor: memory, every residue read and written once; reads are scattered within the row.
#include "linear.cuh"
#include "prelude.cuh"
using namespace rf;

// The places are those that residues come from; their top bit says that the sign changes.
extern "C" __global__ void permute(const Linear::Store* in, const u32* places, const u64* table, Linear::Store* out,
                                   Epilogue epilogue, u64 units, u64 in_distance, u64 out_distance, u64 first, u64 end) {
    Lanes<Linear> lanes(table, units, first, end);
    if (!lanes.at.live) return;
    Linear::Q::Residue x[Linear::lanes];
    RF_UNROLL
    for (u32 v = 0; v < Linear::lanes; v++) {
        u32 place = places[lanes.start + v];
        // a pipeline may bind any bytes here
        u32 from = min_word(place & 0x7fffffffu, Linear::n - 1);
        x[v] = lanes.load_one(in, in_distance, from);
        if (place >> 31) x[v] = lanes.multiples.q.negate(x[v]);
    }
    lanes.store(out, out_distance, x, epilogue);
}
