// The product of values, a leaf a thread.
//
// Floor: memory, three residues for each coefficient. Not timed alone.
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void point_mul(const Rq::Store* a, const Rq::Store* b, Rq::Store* out, const Tables<Rq>* tables,
                                     const Constants<Rq>* constants, u64 per_item, u64 a_distance, u64 b_distance,
                                     u64 out_distance, u64 first, u64 end) {
    Leaf<Rq> leaf(first, end, per_item);
    if (!leaf.live) return;
    auto m = Rq::modulus(constants, leaf.number);
    Rq::M::Word product[Rq::base];
    leaf.multiply<Rq::natural_order>(m, a + leaf.offset(a_distance), b + leaf.offset(b_distance), tables, constants,
                                     product);
    auto* to = out + leaf.offset(out_distance);
    RF_UNROLL
    for (u32 v = 0; v < Rq::base; v++) to[v] = (Rq::Store)m.canonical<product_bound<Rq>()>(product[v]);
}
