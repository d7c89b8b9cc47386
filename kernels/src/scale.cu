// Elements times a number for each modulus, or negated.
//
// Floor: memory, every residue read and written once.
#include "linear.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void scale(const Linear::Store* in, const u64* table, Linear::Store* out, Epilogue epilogue, u64 units,
                                 u64 in_distance, u64 out_distance, u64 first, u64 end) {
    Lanes<Linear> lanes(table, units, first, end);
    if (!lanes.at.live) return;
    Linear::Q::Residue x[Linear::lanes];
    lanes.load(in, in_distance, [&](u32 v, auto term) { x[v] = Linear::minus(0) ? lanes.multiples.q.negate(term) : term; });
    lanes.store(out, out_distance, x, epilogue);
}
