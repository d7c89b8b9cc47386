// Sums and differences of elements, as they are or times a number for each modulus.
//
// Floor: memory, three residues for each.
#include "linear.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void sum(const Linear::Store* a, const Linear::Store* b, const u64* table, Linear::Store* out,
                               Epilogue epilogue, u64 units, u64 a_distance, u64 b_distance, u64 out_distance, u64 first,
                               u64 end) {
    Lanes<Linear> lanes(table, units, first, end);
    if (!lanes.at.live) return;
    const auto& q = lanes.multiples.q;
    Linear::Q::Residue x[Linear::lanes];
    lanes.load(a, a_distance, [&](u32 v, auto term) { x[v] = Linear::minus(0) ? q.negate(term) : term; });
    lanes.load(b, b_distance, [&](u32 v, auto term) { x[v] = Linear::minus(1) ? q.sub(x[v], term) : q.add(x[v], term); });
    lanes.store(out, out_distance, x, epilogue);
}
