// acc += a b on evaluations, modulo the leaves: one thread per leaf, or per several leaves of degree 1.
//
// Roofline bound: memory traffic of four residues for each coefficient.
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void mul_add(const Rq::Store* a, const Rq::Store* b, Rq::Store* acc, const Tables<Rq>* tables,
                                   const Constants<Rq>* constants, u64 per_item, u64 a_distance, u64 b_distance,
                                   u64 acc_distance, u64 first, u64 end) {
    Leaf<Rq> leaf(first, end, per_item);
    if (!leaf.live) return;
    auto m = Rq::modulus(constants, leaf.number);
    Rq::M::Word product[Leaf<Rq>::words], before[Leaf<Rq>::words];
    leaf.multiply<Rq::natural_order>(m, a + leaf.offset(a_distance), b + leaf.offset(b_distance), tables, constants,
                                     product);
    auto* sums = acc + leaf.offset(acc_distance);
    leaf.load(m, sums, before);
    leaf.store(sums, AsIs{}, [&](u32 v) {
        return (Rq::Store)m.canonical<Rq::M::lazy ? product_bound<Rq>() + 1 : 1>(m.add(product[v], before[v]));
    });
}
