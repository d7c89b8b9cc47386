// Tensor products of pairs of evaluations, as of ciphertexts: (a_0 + a_1 s) (b_0 + b_1 s) as a polynomial in s. Leaves
// have degree 1. A thread computes several adjacent evaluations.
//
// Roofline bound: memory traffic of seven residues for each evaluation.
#include "poly.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void tensor(const Rq::Store* a, const Rq::Store* b, Rq::Store* pair, Rq::Store* square,
                                  const Constants<Rq>* constants, u64 rows, u64 a_distance, u64 b_distance,
                                  u64 pair_distance, u64 square_distance, u64 first, u64 end) {
    constexpr u32 lanes = Rq::leaf_lanes, units = Rq::n / lanes;
    // whether an accumulator holds two products
    constexpr bool both = ProductRange<Rq, 1, 1, 1>::limit >= 2;
    using Access = Move<Rq::Store, lanes, lanes * sizeof(Rq::Store)>;
    using Word = Rq::M::Word;
    Units<block_threads> at(first, end, (u32)rows * units);
    if (!at.live) return;
    const u32 row = at.unit / units;
    auto m = Rq::modulus(constants, row);
    const u64 element = rows * Rq::n, place = (u64)row * Rq::n + at.unit % units * lanes;
    Word x[2][2][lanes];
    RF_UNROLL
    for (u32 i = 0; i < 2; i++) {
        Access::template load<Word>(a + at.item * a_distance + i * element + place, [&](u32 v, Word w) { x[0][i][v] = w; });
        Access::template load<Word>(b + at.item * b_distance + i * element + place, [&](u32 v, Word w) { x[1][i][v] = w; });
        reduce_inputs<Rq, lanes>(m, x[0][i]);
        reduce_inputs<Rq, lanes>(m, x[1][i]);
    }
    auto canonical = [&](Word word) {
        return (Rq::Store)m.template canonical<product_bound<Rq>()>(restore_factor<Rq>(m, word, constants[row].header));
    };
    auto product = [&](u32 i, u32 j, u32 v) { return m.template wide_reduce<1>(m.wide_mul(x[0][i][v], x[1][j][v])); };
    auto* out = pair + at.item * pair_distance + place;
    Access::template store<false>(out, [&](u32 v) { return canonical(product(0, 0, v)); });
    Access::template store<false>(out + element, [&](u32 v) {
        if constexpr (both) {
            auto sum = m.wide_mad(m.wide_mul(x[0][0][v], x[1][1][v]), x[0][1][v], x[1][0][v]);
            return canonical(m.template wide_reduce<Rq::M::lazy ? 2 : 1>(sum));
        } else {
            Word sum = m.add(m.template canonical<product_bound<Rq>()>(product(0, 1, v)),
                             m.template canonical<product_bound<Rq>()>(product(1, 0, v)));
            return canonical(m.template canonical<Rq::M::lazy ? 2 : 1>(sum));
        }
    });
    Access::template store<false>(square + at.item * square_distance + place,
                                  [&](u32 v) { return canonical(product(1, 1, v)); });
}
