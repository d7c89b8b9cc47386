// Products and inverses of evaluations: residues modulo the leaves x^d - beta of a ring's factorization tree, for leaf
// degrees d = 1 ... 8. (d > 1 is an incomplete NTT, as in ML-KEM.)
//
// The product factor is the constant that a reduced product lacks: 2^64, for example, if products of plain 64-bit
// residues are reduced by Montgomery reduction.
#pragma once
#include "ntt.cuh"

namespace rf {

// Bounds, in multiples of q, to which operands must be reduced before the d products of a coefficient are summed in one
// accumulator.
template <class R, u32 A, u32 B, u32 D>
struct ProductRange {
    static constexpr u32 d = D;
    // The number of products of canonical residues that an accumulator holds: any number if each product is reduced as
    // it is added, else 12 by the contract of wide_reduce. For 16-bit moduli it is what fits 32 bits, since q is at
    // most (2^32 - 1) / capacity.
    static constexpr u64 q = 0xffffffffull / R::capacity;
    static constexpr u64 limit = R::M::wide_reduced ? ~0ull : R::M::wide_factor ? 12 : 0xffffffffull / (q * q);
    RF_CONST bool fits(u64 a, u64 b) { return d * a * (d > 1 && b < 2 ? 2 : b) <= limit; }
    static constexpr u32 least(u32 a, u32 b) { return a < b ? a : b; }
    // Bounds a, b of the operands when they are multiplied. The second operand times beta is below 2q, or canonical if
    // wraps_canonical.
    static constexpr u32 a = fits(A, B) ? A : fits(least(A, 2), B) || fits(least(A, 2), least(B, 2)) ? least(A, 2) : 1;
    static constexpr u32 b = fits(a, B) ? B : fits(a, least(B, 2)) ? least(B, 2) : 1;
    static constexpr bool wraps_canonical = d > 1 && d * a * 2 > limit;
    // True if not even canonical operands fit; every product is then reduced separately.
    static constexpr bool single = d * a * b > limit;
    static constexpr u32 sum = single ? 2 * d : d * a * (b < 2 && d > 1 && !wraps_canonical ? 2 : b);
};

// Schoolbook product of two residues modulo a leaf.
// in: a < A q, b < B q, of degree < d   out: a b mod x^d - beta, divided by the product factor, < 2q
template <class R, u32 A, u32 B, u32 d = R::base>
RF_FN void leaf_product(const typename R::M& m, const typename R::M::Word* a, const typename R::M::Word* b,
                        typename R::M::Twiddle beta, typename R::M::Word* out) {
    using Range = ProductRange<R, A, B, d>;
    using Word = typename R::M::Word;
    Word left[d], right[d], wrapped[d];
    RF_UNROLL
    for (u32 i = 0; i < d; i++) {
        left[i] = Range::a == A ? a[i] : Range::a == 1 ? m.template canonical<A>(a[i]) : m.template reduce<A>(a[i]);
        right[i] = Range::b == B ? b[i] : Range::b == 1 ? m.template canonical<B>(b[i]) : m.template reduce<B>(b[i]);
        if (d > 1) {
            wrapped[i] = m.mul(right[i], beta);
            if (Range::wraps_canonical) wrapped[i] = m.template canonical<R::M::product_bound>(wrapped[i]);
        }
    }
    RF_UNROLL
    for (u32 k = 0; k < d; k++) {
        auto factor = [&](u32 i) { return i <= k ? right[k - i] : wrapped[k + d - i]; };
        if constexpr (Range::single) {
            Word sum = m.template wide_reduce<1>(m.wide_mul(left[0], factor(0)));
            RF_UNROLL
            for (u32 i = 1; i < d; i++) sum = m.add(sum, m.template wide_reduce<1>(m.wide_mul(left[i], factor(i))));
            out[k] = m.template reduce<2 * d>(sum);
        } else {
            auto sum = m.wide_mul(left[0], factor(0));
            RF_UNROLL
            for (u32 i = 1; i < d; i++) sum = m.wide_mad(sum, left[i], factor(i));
            out[k] = m.template wide_reduce<Range::sum>(sum);
        }
    }
}

// Bound of the products that multiply_values leaves, in multiples of q.
template <class R>
RF_CONST u32 product_bound() {
    return R::M::product_bound;
}

// in: x < A q, y < B q, evaluations in the layout of the last pass   out: x = their products divided by the product
//     factor, < 2q
template <class R, u32 A, u32 B>
RF_FN void multiply_values(const typename R::M& m, typename R::M::Word* x, const typename R::M::Word* y,
                           const typename R::M::Twiddle* table, u32 thread) {
    using S = Pass<R, R::passes - 1>;
    RF_UNROLL
    for (u32 set = 0; set < S::sets; set++) {
        u32 top = S::node(thread, set);
        RF_UNROLL
        for (u32 k = 0; k < S::span; k++) {
            typename R::M::Word a[R::base], b[R::base], c[R::base];
            RF_UNROLL
            for (u32 v = 0; v < R::base; v++) {
                a[v] = x[(set * R::base + v) * S::span + k];
                b[v] = y[(set * R::base + v) * S::span + k];
            }
            typename R::M::Twiddle beta =
                R::base > 1 ? table[Tree<R>::leaves() + twiddle_slot<R, R::passes - 1, R::layers>(top, k)] : table[0];
            leaf_product<R, A, B>(m, a, b, beta, c);
            RF_UNROLL
            for (u32 v = 0; v < R::base; v++) x[(set * R::base + v) * S::span + k] = c[v];
        }
    }
}

// Inversion of a residue modulo a leaf by norms that halve the degree. With y = x^2 and a = A(y) + x B(y), the product
// a (A - x B) = A^2 - y B^2 is a residue modulo y^(d/2) - beta; recursion ends at a number. Requires prime q, d a power
// of two, and a modulus type whose wide products carry no Montgomery factor.
template <class R, u32 d>
struct Norm {
    using M = typename R::M;
    using Word = typename M::Word;
    static constexpr u32 h = d / 2;
    static_assert(d == 2 * h && !M::wide_factor, "d must be even, and products must have no factor");

    // in: a, b < q, residues modulo y^h - beta   out: a b mod y^h - beta, < q
    RF_FN void multiply(const M& m, const Word* a, const Word* b, typename M::Twiddle beta, Word* out) {
        leaf_product<R, 1, 1, h>(m, a, b, beta, out);
        RF_UNROLL
        for (u32 i = 0; i < h; i++) out[i] = m.template canonical<2>(out[i]);
    }
    // in: a < q, a residue modulo x^d - beta   out: adjugate, < q, with a * adjugate = norm; returns the norm, < q
    RF_FN Word adjugate(const M& m, const Word* a, typename M::Twiddle beta, Word* adjugate) {
        Word even[h], odd[h], even2[h], odd2[h];
        RF_UNROLL
        for (u32 i = 0; i < h; i++) even[i] = a[2 * i], odd[i] = a[2 * i + 1];
        multiply(m, even, even, beta, even2);
        multiply(m, odd, odd, beta, odd2);
        RF_UNROLL
        for (u32 i = 0; i < h; i++) {
            Word turned = i == 0 ? m.template canonical<2>(m.mul(odd2[h - 1], beta)) : odd2[i - 1];
            even2[i] = m.template canonical<2>(m.template sub<1>(even2[i], turned));
        }
        if constexpr (h == 1) {
            adjugate[0] = even[0];
            adjugate[1] = m.template canonical<2>(m.template negate<1>(odd[0]));
            return even2[0];
        } else {
            Word inner[h];
            Word norm = Norm<R, h>::adjugate(m, even2, beta, inner);
            multiply(m, even, inner, beta, even2);
            multiply(m, odd, inner, beta, odd2);
            RF_UNROLL
            for (u32 i = 0; i < h; i++) {
                adjugate[2 * i] = even2[i];
                adjugate[2 * i + 1] = m.template canonical<2>(m.template negate<1>(odd2[i]));
            }
            return norm;
        }
    }
};

// in: x < q   out: x^(q-2), < q: the inverse modulo a prime q (Fermat)
template <class M>
RF_FN typename M::Word invert_word(const M& m, typename M::Word x) {
    typename M::Word power = x;
    u32 bits = 31;
    while (m.q - 2 >> bits == 0) bits--;
    RF_UNROLL
    for (u32 bit = bits; bit > 0; bit--) {
        power = m.mul_plain(power, power);
        if (m.q - 2 >> (bit - 1) & 1) power = m.mul_plain(power, x);
    }
    return power;
}

// in: evaluations x < q in the layout of the last pass   out: x = their inverses, < q; returns true if all inverses of
//     this thread exist
// Montgomery's trick (1987): one exponentiation inverts the product of the norms of all leaves of a thread.
template <class R>
RF_FN bool invert_values(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                         u32 thread) {
    using S = Pass<R, R::passes - 1>;
    using Word = typename R::M::Word;
    constexpr u32 base = R::base, leaves = R::per_thread / base;
    Word norm[leaves], before[leaves], product = 1;
    auto place = [](u32 leaf, u32 v) { return (leaf / S::span * base + v) * S::span + leaf % S::span; };
    RF_UNROLL
    for (u32 leaf = 0; leaf < leaves; leaf++) {
        u32 top = S::node(thread, leaf / S::span);
        auto beta = table[Tree<R>::leaves() + twiddle_slot<R, R::passes - 1, R::layers>(top, leaf % S::span)];
        Word a[base], adjugate[base];
        RF_UNROLL
        for (u32 v = 0; v < base; v++) a[v] = x[place(leaf, v)];
        norm[leaf] = Norm<R, base>::adjugate(m, a, beta, adjugate);
        RF_UNROLL
        for (u32 v = 0; v < base; v++) x[place(leaf, v)] = adjugate[v];
        before[leaf] = product;
        product = leaf == 0 ? norm[0] : m.mul_plain(product, norm[leaf]);
    }
    bool exist = product != 0;
    Word rest = invert_word(m, product);
    RF_UNROLL
    for (u32 i = leaves; i > 0; i--) {
        u32 leaf = i - 1;
        Word inverse = leaf == 0 ? rest : m.mul_plain(rest, before[leaf]);
        if (leaf > 0) rest = m.mul_plain(rest, norm[leaf]);
        RF_UNROLL
        for (u32 v = 0; v < base; v++) x[place(leaf, v)] = m.mul_plain(x[place(leaf, v)], inverse);
    }
    return exist;
}

// in: x < 2q, a product that lacks the product factor; the header of the twiddle table   out: x times the product
//     factor, < 2q
template <class R>
RF_FN typename R::M::Word restore_factor(const typename R::M& m, typename R::M::Word x,
                                         const typename R::M::Twiddle* header) {
    if constexpr (lacks_factor<R>) return m.mul(x, header[Tree<R>::product_factor]);
    else return x;
}

// Position of a thread in a launch over the items first .. end. A thread has one leaf of a limb, or R::leaf_lanes
// adjacent leaves of degree 1.
template <class R>
struct Leaf {
    using Word = typename R::M::Word;
    static constexpr u32 lanes = R::leaf_lanes, words = R::base * lanes;
    static_assert(lanes == 1 || R::base == 1, "a thread takes several leaves only if they have degree 1");

    u64 item;
    u64 index;   // index of the limb over all items
    u32 number;  // index of the limb in the item
    u32 place;   // index in the limb of the thread's first leaf
    bool live;

    // in: limbs per item, ignored if R::per_item is a constant
    RF_METHOD Leaf(u64 first, u64 end, u64 per_item) {
        follow();
        constexpr u32 units = Tree<R>::leaf_count / lanes, threads = R::leaf_threads;
        static_assert(units % threads == 0 || threads % units == 0, "blocks must hold whole limbs, or limbs whole blocks");
        constexpr u32 blocks = units > threads ? units / threads : 1;
        constexpr u32 rows = threads > units ? threads / units : 1;
        u32 count = R::per_item ? R::per_item : (u32)per_item;
        Polynomial<rows> row(blockIdx.x / blocks, threadIdx.x / units, count);
        item = first + row.item;
        live = item < end;
        place = (blockIdx.x % blocks * threads + threadIdx.x % units) * lanes;
        number = row.number;
        index = item * count + number;
    }
    // Offset in memory of the first coefficient of the thread's first leaf, in residues.
    // in: the stride between items in residues, ignored if R::per_item is a constant
    RF_METHOD u64 offset(u64 distance) const {
        return (R::per_item ? index * R::n : item * distance + (u64)number * R::n) + (u64)place * R::base;
    }
    // in: the address of the first residue of the thread's leaves   out: all residues of these leaves, < q
    RF_FN void load(const typename R::M& m, const typename R::Store* at, Word* x) {
        if constexpr (lanes > 1) {
            Access::template load<Word>(at, [&](u32 v, Word word) { x[v] = word; });
        } else {
            RF_UNROLL
            for (u32 v = 0; v < words; v++) x[v] = at[v];
        }
        reduce_inputs<R, words>(m, x);
    }
    template <class Ending, class Get>
    RF_FN void store(typename R::Store* at, const Ending& ending, Get get) {
        if constexpr (lanes > 1) {
            store_run<lanes, lanes * sizeof(typename R::Store)>(ending, at, 0, get);
        } else {
            RF_UNROLL
            for (u32 v = 0; v < words; v++)
                store_run<1, sizeof(typename R::Store)>(ending, at, v, [&](u32) { return get(v); });
        }
    }
    // in: the addresses of the first residues of the thread's leaves in both operands   out: the products modulo the
    //     leaves, < 2q
    template <bool Natural>
    RF_METHOD void multiply(const typename R::M& m, const typename R::Store* a, const typename R::Store* b,
                            const Tables<R>* tables, const Constants<R>* constants, Word* product) const {
        const auto* header = constants[number].header;
        Word x[words], y[words];
        load(m, a, x);
        load(m, b, y);
        if constexpr (R::base > 1) {
            u32 leaf = Natural ? Tree<R>::leaf_at(place) : place;
            const auto* betas = TablesOf<R>::of(tables, number) + Tree<R>::leaves();
            leaf_product<R, 1, 1>(m, x, y, betas[Tree<R>::template slot<R::layers>(leaf)], product);
        } else {
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++) leaf_product<R, 1, 1>(m, x + v, y + v, header[0], product + v);
        }
        RF_UNROLL
        for (u32 v = 0; v < words; v++) product[v] = restore_factor<R>(m, product[v], header);
    }

  private:
    using Access = Move<typename R::Store, lanes, lanes * sizeof(typename R::Store)>;
};

}  // namespace rf
