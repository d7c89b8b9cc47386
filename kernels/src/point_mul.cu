// out = a b on evaluations, modulo the leaves: one thread per leaf, or per several leaves of degree 1.
//
// Roofline bound: memory traffic of three residues for each coefficient.
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void point_mul(const Rq::Store* a, const Rq::Store* b, Rq::Store* out, const Tables<Rq>* tables,
                                     const Constants<Rq>* constants, Epilogue epilogue, u64 per_item, u64 a_distance,
                                     u64 b_distance, u64 out_distance, u64 first, u64 end) {
    Leaf<Rq> leaf(first, end, per_item);
    if (!leaf.live) return;
    auto m = Rq::modulus(constants, leaf.number);
    Rq::M::Word product[Leaf<Rq>::words];
    leaf.multiply<Rq::natural_order>(m, a + leaf.offset(a_distance), b + leaf.offset(b_distance), tables, constants,
                                     product);
    leaf.store(out + leaf.offset(out_distance), epilogue.of_row(leaf.number, [&](u64 apart) { return leaf.offset(apart); }),
               [&](u32 v) { return (Rq::Store)m.canonical<product_bound<Rq>()>(product[v]); });
}
