// Sums of products of values over a list: for each set of keys s, out_s = sum of a_j b_(s,j), a leaf of degree 1 a thread.
//
// Floor: memory, the values a once, and for each set the keys b (which a batch may share) and the sum.
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

// An item has `count` elements a of per_item rows each, `count` keys for each set, and as many sums as there are sets.
extern "C" __global__ void inner_product(const Rq::Store* a, const Rq::Store* b, Rq::Store* out, const Constants<Rq>*,
                                         const Constants<Rq>* constants, u64 per_item, u64 a_distance, u64 b_distance,
                                         u64 out_distance, u64 count, u64 first, u64 end) {
    // products that an accumulator holds
    constexpr u64 limit = ProductRange<Rq, 1, 1>::limit;
    constexpr u32 group = limit < 12 ? (u32)limit : 12;
    Leaf<Rq> leaf(first, end, per_item);
    if (!leaf.live) return;
    auto m = Rq::modulus(constants, leaf.number);
    const u64 element = per_item * Rq::n, place = (u64)leaf.number * Rq::n + leaf.place;
    const auto* from = a + leaf.item * a_distance + place;
    const auto* keys = b + leaf.item * b_distance + place;
    Rq::M::Word sums[Sets::count]{};
    for (u64 j = 0; j < count; j += group) {
        Rq::M::Wide products[Sets::count]{};
        for (u32 t = 0; t < group && j + t < count; t++) {
            Rq::M::Word x = from[(j + t) * element];
            reduce_inputs<Rq, 1>(m, &x);
            RF_UNROLL
            for (u32 s = 0; s < Sets::count; s++) {
                Rq::M::Word y = keys[(s * count + j + t) * element];
                reduce_inputs<Rq, 1>(m, &y);
                products[s] = m.wide_mad(products[s], x, y);
            }
        }
        RF_UNROLL
        for (u32 s = 0; s < Sets::count; s++) {
            auto sum = m.template canonical<Rq::M::product_bound>(m.template wide_reduce<Rq::M::lazy ? group : 1>(products[s]));
            sums[s] = m.template canonical<Rq::M::lazy ? 2 : 1>(m.add(sums[s], sum));
        }
    }
    RF_UNROLL
    for (u32 s = 0; s < Sets::count; s++) {
        auto sum = restore_factor<Rq>(m, sums[s], constants[leaf.number].header);
        out[leaf.item * out_distance + s * element + place] = (Rq::Store)m.template canonical<product_bound<Rq>()>(sum);
    }
}
