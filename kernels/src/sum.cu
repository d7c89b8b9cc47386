// Sums of elements, each as it is, negated, or times a number for each modulus.
//
// Floor: memory, three residues for each.
#include "linear.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void sum(const Linear::Store* a, const Linear::Store* b, const u64* table, Linear::Store* out, u64 units,
                               u64 a_distance, u64 b_distance, u64 out_distance, u64 first, u64 end) {
    Lanes<Linear> lanes(table, units, first, end);
    if (!lanes.at.live) return;
    Linear::Q::Residue x[Linear::lanes];
    lanes.load<0>(a, a_distance, [&](u32 v, auto term) { x[v] = term; });
    lanes.load<1>(b, b_distance, [&](u32 v, auto term) { x[v] = lanes.q.add(x[v], term); });
    lanes.store(out, out_distance, x);
}
