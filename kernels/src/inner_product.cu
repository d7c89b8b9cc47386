// Inner products of lists of evaluations, as in key switching: for each set of keys s, out_s = sum of a_j b_(s,j).
// Leaves have degree 1. A thread computes several adjacent evaluations. Elements may be images of those in memory under an
// automorphism.
//
// Roofline bound: memory. The evaluations a are read once; for each set, the keys b are read (a batch may share them)
// and the sum is written.
#include "poly.cuh"
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// An item has `count` terms a of `rows` limbs each, at least `count` keys for each set, and one sum for each set. A term
// may be several elements of `period` limbs, which are multiplied by the same key: then the sums of all sets for the first of
// them come first.
// If `digit_limbs` > 0, the elements are raised digits of an element `own` of `limbs` limbs, as convert.cu lays them out:
// digit j has its own limbs in `own`, from limb j digit_limbs on, and the others in `a`, where rows of the same modulus
// are adjacent. Otherwise they are contiguous in `a`.
// A key has `key_rows` limbs, modulo these primes in order: those of the element's first `own` limbs, then primes that
// elements lack, then those of the element's other limbs.
// If Sets::image, evaluation i of an element is read from place places[i] of its limb.
// The first Sets::plus sums have one more term each: an element of `limbs` limbs in `plus`, of which each is multiplied by a
// number, factors[3 limb]. If Sets::constant, the first sum also has the number factors[3 limb + 1], as its product with the
// number 1 in factors[3 limb + 2].
extern "C" __global__ void inner_product(const Rq::Store* a, const Rq::Store* own, const Rq::Store* b, Rq::Store* out,
                                         const Rq::Store* plus, const Constants<Rq>* constants, const u32* places,
                                         const Rq::Store* factors, Epilogue epilogue, u64 rows, u64 a_distance,
                                         u64 own_distance, u64 b_distance, u64 out_distance, u64 plus_distance,
                                         u64 count, u64 key_count, u64 key_rows, u64 key_own, u64 period,
                                         u64 digit_limbs, u64 limbs, u64 first, u64 end) {
    // number of products that an accumulator holds
    constexpr u64 limit = ProductRange<Rq, 1, 1, 1>::limit;
    constexpr u32 group = limit < 12 ? (u32)limit : 12;
    // number of terms of a group that are loaded before they are multiplied
    constexpr u32 ahead = sizeof(Rq::Store) <= 8 && group % 2 == 0 ? 2 : 1;
    constexpr u32 lanes = Rq::leaf_lanes, units = Rq::n / lanes;
    using Access = Move<Rq::Store, lanes, lanes * sizeof(Rq::Store)>;
    using Word = Rq::M::Word;
    Units<Sets::threads, true> at(first, end, (u32)rows * units);
    if (!at.live) return;
    // If a term has several elements, adjacent warps have the same units of each of them, and read the same keys.
    u32 part = 0, unit = at.unit;
    if constexpr (Sets::parts > 1) {
        const u32 of_one = (u32)period * units, warp = at.unit / 32;
        const bool alternate = of_one % 32 == 0;
        part = alternate ? warp % Sets::parts : at.unit / of_one;
        unit = alternate ? warp / Sets::parts * 32 + at.unit % 32 : at.unit - part * of_one;
    }
    const u32 own_row = unit / units, row = part * (u32)period + own_row;
    auto m = Rq::modulus(constants, row);
    const u64 coefficient = unit % units * lanes;
    const u64 key_place = (own_row + (own_row < key_own ? 0 : key_rows - period)) * Rq::n + coefficient;
    // the first term's row in `a`, the distance to the next one, and the term that is in `own`, if there is one
    u64 row_of_first = row, apart = rows;
    u32 own_term = ~0u;
    if (digit_limbs > 0) {
        const bool is_own = row < limbs;
        row_of_first = is_own ? row * (count - 1) : row * count - limbs;
        apart = 1;
        if (is_own) own_term = row / (u32)digit_limbs;
    }
    u32 image[lanes];
    if constexpr (Sets::image) {
        // clamped, because a pipeline may bind any bytes to this port
        Move<u32, lanes, lanes * 4>::template load<u32>(places + coefficient,
                                                        [&](u32 v, u32 x) { image[v] = min_word(x, Rq::n - 1); });
    }
    // calls put with the evaluations of a limb that the thread needs
    auto load = [&](const Rq::Store* limb, auto put) {
        if constexpr (Sets::image) {
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++) put(v, word_of<Word>(limb[image[v]]));
        } else {
            Access::template load<Word>(limb + coefficient, put);
        }
    };
    const auto* from = a + at.item * a_distance + row_of_first * Rq::n;
    const auto* from_own = own + at.item * own_distance + (u64)row * Rq::n;
    auto value = [&](u32 term) {
        return term == own_term ? from_own : from + (term - (term > own_term)) * apart * Rq::n;
    };
    const auto* keys = b + at.item * b_distance + key_place;
    Word sums[Sets::count][lanes]{};
    for (u64 j = 0; j < count; j += group) {
        Rq::M::Wide products[Sets::count][lanes]{};
        for (u32 t = 0; t < group && j + t < count; t += ahead) {
            Word x[ahead][lanes], y[ahead][Sets::count][lanes];
            RF_UNROLL
            for (u32 i = 0; i < ahead; i++) {
                if (i > 0 && j + t + i >= count) break;
                const u32 term = (u32)j + t + i;
                load(value(term), [&](u32 v, Word word) { x[i][v] = word; });
                RF_UNROLL
                for (u32 s = 0; s < Sets::count; s++) {
                    const auto* key = keys + (s * key_count + term) * key_rows * Rq::n;
                    Access::template load<Word>(key, [&](u32 v, Word word) { y[i][s][v] = word; });
                }
            }
            RF_UNROLL
            for (u32 i = 0; i < ahead; i++) {
                if (i > 0 && j + t + i >= count) break;
                reduce_inputs<Rq, lanes>(m, x[i]);
                RF_UNROLL
                for (u32 s = 0; s < Sets::count; s++) {
                    reduce_inputs<Rq, lanes>(m, y[i][s]);
                    RF_UNROLL
                    for (u32 v = 0; v < lanes; v++) products[s][v] = m.wide_mad(products[s][v], x[i][v], y[i][s][v]);
                }
            }
        }
        RF_UNROLL
        for (u32 s = 0; s < Sets::count; s++) {
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++) {
                auto sum = m.template wide_reduce<Rq::M::lazy ? group : 1>(products[s][v]);
                sum = m.add(sums[s][v], m.template canonical<Rq::M::product_bound>(sum));
                sums[s][v] = m.template canonical<Rq::M::lazy ? 2 : 1>(sum);
            }
        }
    }
    if (Sets::plus > 0 && row < limbs) {
        auto add_product = [&](u32 s, u32 v, Word x, Word factor) {
            auto term = m.template wide_reduce<1>(m.wide_mul(x, factor));
            term = m.add(sums[s][v], m.template canonical<Rq::M::product_bound>(term));
            sums[s][v] = m.template canonical<Rq::M::lazy ? 2 : 1>(term);
        };
        const Word factor = word_of<Word>(factors[3 * row]);
        RF_UNROLL
        for (u32 s = 0; s < Sets::plus; s++) {
            Word x[lanes];
            load(plus + at.item * plus_distance + (s * limbs + row) * Rq::n, [&](u32 v, Word word) { x[v] = word; });
            reduce_inputs<Rq, lanes>(m, x);
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++) add_product(s, v, x[v], factor);
        }
        if constexpr (Sets::constant) {
            const Word constant = word_of<Word>(factors[3 * row + 1]), one = word_of<Word>(factors[3 * row + 2]);
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++) add_product(0, v, one, constant);
        }
    }
    RF_UNROLL
    for (u32 s = 0; s < Sets::count; s++) {
        const u32 sum_row = (part * Sets::count + s) * (u32)period + own_row;
        auto offset = [&](u64 apart) { return at.item * apart + (u64)sum_row * Rq::n + coefficient; };
        auto ending = epilogue.of_row(sum_row, offset);
        store_run<lanes, lanes * sizeof(Rq::Store)>(ending, out + offset(out_distance), 0, [&](u32 v) {
            auto sum = restore_factor<Rq>(m, sums[s][v], constants[row].header);
            return (Rq::Store)m.template canonical<product_bound<Rq>()>(sum);
        });
    }
}
