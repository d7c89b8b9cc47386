// Block-level number-theoretic transforms (NTT) over a generated ring, for built-in and scheme kernels alike.
//
// Forward: Cooley-Tukey butterflies, from coefficients in natural order to evaluations in bit-reversed order
// (digit-reversed with radix 3). Inverse: Gentleman-Sande butterflies, back. The first layer of x^n - x^(n/2) + 1
// splits it by a primitive sixth root of unity, as in NTTRU (Lyubashevsky-Seiler, eprint 2019/040).
//
// ntt_forward and ntt_inverse work on a tile (a limb or a sub-transform of one) in registers. Threads exchange residues
// between passes, which are groups of consecutive layers (ring.cuh). All threads of a tile must call them; their only
// barriers are sync_row. Residues are reduced lazily, as in Harvey's butterflies (arXiv:1205.2926). B is a bound in
// multiples of q (on the absolute value, if words have signs), and R::capacity is the multiple of q that fits a word.
// Every reduction is decided at compile time.
#pragma once
#include "ring.cuh"

namespace rf {

template <class A, class B>
constexpr bool same_type = false;
template <class A>
constexpr bool same_type<A, A> = true;

// Bounds of residues after one layer, in multiples of q. Layer codes are 2, 3 and 6 (`Tree` in ring.cuh).
template <class R>
struct Bound {
    static constexpr u64 capacity = R::capacity;
    static constexpr bool lazy = R::M::lazy;
    static constexpr u32 product = R::M::product_bound;  // bound of products and of reduced residues

    // in: the bound b of a forward layer's inputs   out: the bound of its first input after the reduction that prevents
    //     overflow
    RF_CONST u32 before_forward(u32 code, u32 b) {
        return b + (code == 3 ? 2 : 1) * product > capacity && b > product ? product : b;
    }
    // Radix 3 adds two products to an input. If three products do not fit a word, the sum of the two is reduced first.
    static constexpr bool tight = capacity < 3 * product;
    // True if a layer of code 6 must reduce the sum of its two inputs, each below b q, before it subtracts a product.
    RF_CONST bool squeezed(u32 b) { return lazy && 2 * b + product > capacity; }
    RF_CONST u32 forward(u32 code, u32 b) {
        if (!lazy) return 1;
        if (code == 6) return squeezed(b) ? product + (b > product ? b : product) : 2 * b + product;
        return before_forward(code, b) + (code == 3 && !tight ? 2 : 1) * product;
    }
    // True if a kernel of only some of the layers leaves residues lazy for the next kernel. This requires that words
    // are stored unchanged.
    static constexpr bool kept = lazy && same_type<typename R::Store, typename R::M::Word>;
    // out: the bound of the inputs of forward pass p
    RF_CONST u32 forward_pass(u32 p) {
        u32 b = 1;
        for (u32 l = kept ? 0 : R::pass[0]; l < R::pass[p]; l++) b = forward(R::layer[l], b);
        return b;
    }
    // in: the bound b of an inverse layer's inputs   out: the bound after making them canonical where the layer must
    RF_CONST u32 before_inverse(u32 code, u32 b) { return code == 3 && 3 * b + 2 > capacity ? 1 : b; }
    // inverse_sum: bound of the sum of all inputs of an inverse layer. inverse: bound of the layer's outputs; the sum
    // is reduced if the next layer could not double it.
    RF_CONST u32 inverse_sum(u32 code, u32 b) { return before_inverse(code, b) * (code == 3 ? 3 : 2); }
    RF_CONST u32 inverse(u32 code, u32 b) {
        if (!lazy) return 1;
        u32 sum = inverse_sum(code, b);
        return 2 * (u64)sum <= capacity && sum > product ? sum : product;
    }
    // in: the bound b of the inputs of inverse pass p   out: the bound after its layers
    RF_CONST u32 inverse_pass(u32 p, u32 b) {
        for (u32 l = R::pass[p + 1]; l > R::pass[p]; l--) b = inverse(R::layer[l - 1], b);
        return b;
    }
    // in: the bound of the evaluations   out: the bound of the inputs of this kernel's first inverse pass, after
    //     another kernel has inverted the layers below it
    RF_CONST u32 inverse_below(u32 b) {
        for (u32 l = R::layers; kept && l > R::pass[R::passes]; l--) b = inverse(R::layer[l - 1], b);
        return b;
    }
    RF_CONST u32 in_cell(u32 b) { return b > R::cell_capacity && b > product ? product : b; }
};

// Index of a node in layer L's section of the twiddle table. The node has number `inner` below node `top`, the node of
// a thread at the input of pass P.
template <class R, u32 P, u32 L>
RF_FN u32 twiddle_slot(u32 top, u32 inner) {
    using S = Pass<R, P>;
    if constexpr (S::first == R::columns) return Tree<R>::column(top, inner);
    else return Tree<R>::template slot<L>(top * (Tree<R>::nodes(L) / Tree<R>::nodes(S::first)) + inner);
}

// Address of the twiddle factors of the node at index `twiddle_slot`. Compile-time offsets are added to the address
// rather than to the 32-bit index, which might wrap. They become immediate offsets of the loads, so that one address
// serves all nodes of a layer and the saved registers let loads run ahead of their use. This is faster in inverse
// layers and in clusters; other forward layers are faster by index (`twiddle_slot`).
template <class R, u32 P, u32 L>
RF_FN const typename R::M::Twiddle* twiddle_at(const typename R::M::Twiddle* section, u32 top, u32 inner) {
    using S = Pass<R, P>;
    constexpr u32 each = Tree<R>::radix(L) - 1, below = Tree<R>::nodes(L) / Tree<R>::nodes(S::first);
    if constexpr (S::first == R::columns) return section + top * each + Tree<R>::column(0, inner) * each;
    else if constexpr (L <= R::columns) return section + top * (below * each) + inner * each;
    else return section + twiddle_slot<R, P, L>(top, inner) * each;
}

// Cooley-Tukey butterfly.   in: a, b < B q   out: (a + z b, a - z b), < Bound::forward q
template <class R, u32 B>
RF_FN void forward_two(const typename R::M& m, typename R::M::Word& a, typename R::M::Word& b,
                       typename R::M::Twiddle z) {
    constexpr u32 kept = R::M::lazy ? Bound<R>::before_forward(2, B) : 1;
    auto t = m.mul(b, z);
    if constexpr (kept != B) a = m.template reduce<B>(a);
    b = m.template sub<R::M::product_bound>(a, t);
    a = m.add(a, t);
}

// Radix-3 Cooley-Tukey butterfly; s is a third root of unity.   in: a, b, c < B q
// out: (a + z b + z^2 c, a + s z b + s^2 z^2 c, a + s^2 z b + s z^2 c)
template <class R, u32 B>
RF_FN void forward_three(const typename R::M& m, typename R::M::Word& a, typename R::M::Word& b,
                         typename R::M::Word& c, typename R::M::Twiddle z, typename R::M::Twiddle z2,
                         typename R::M::Twiddle s) {
    constexpr u32 kept = R::M::lazy ? Bound<R>::before_forward(3, B) : 1;
    constexpr u32 product = R::M::product_bound;
    auto t1 = m.mul(b, z);
    auto t2 = m.mul(c, z2);
    auto t3 = m.mul(m.template sub<product>(t1, t2), s);
    if constexpr (kept != B) a = m.template reduce<B>(a);
    auto sum = m.add(t1, t2);
    if constexpr (R::M::lazy && Bound<R>::tight) {
        auto difference = m.template reduce<2 * product>(m.template sub<product>(t3, t2));
        auto other = m.template reduce<2 * product>(m.add(t1, t3));
        sum = m.template reduce<2 * product>(sum);
        b = m.add(a, difference);
        c = m.template sub<product>(a, other);
    } else {
        b = m.add(m.template sub<product>(a, t2), t3);
        c = m.template sub<2 * product>(a, m.add(t1, t3));
    }
    a = m.add(a, sum);
}

// True if the leftmost node of a pass has the twiddle factor 1 in every thread, as at the top of x^n - 1. (Not used for
// lazy types: without the product, sums would grow beyond the bounds above.)
template <class R, u32 P>
constexpr bool starts_with_one = R::starts_with_one && !R::M::lazy && R::pass[P] == 0;

// Prefetched twiddle factors: those that a thread needs first in pass P (forward, or inverse if Back). They are loaded
// before the exchange that leads to the pass, which hides their latency. Used for 256-bit words only.
template <class R, u32 P, bool Back>
struct Ahead {
    using S = Pass<R, P>;
    static constexpr bool used = sizeof(typename R::M::Word) == 32;
    static constexpr u32 layer = Back && S::last > S::first ? S::last - 1 : S::first;
    static constexpr u32 each = Tree<R>::radix(layer) - 1, count = S::sets * each;

    typename R::M::Twiddle factor[used ? count : 1];

    // in: the section of layer `layer` of the table
    RF_METHOD void read(const typename R::M::Twiddle* section, u32 thread, u32 node) {
        if constexpr (used) {
            RF_UNROLL
            for (u32 c = 0; c < count; c++) {
                u32 top = layer == 0 ? 0 : node * S::nodes + S::node(thread, c / each);
                factor[c] = twiddle_at<R, P, layer>(section, top, 0)[c % each];
            }
        }
    }
};

// The node whose twiddle factor is loaded for node `inner` at layer L of pass P: `inner` itself or, for the last two
// layers if ByRoots, the first of its group of eight nodes. The factors of the other seven are this factor times the
// roots of unity at the end of the table. That costs one product each, and saves most reads of a table that is twice as
// large as an item's limb.
template <class R, u32 P, u32 L, bool ByRoots>
RF_CONST u32 read_for(u32 inner) {
    return ByRoots && L > Pass<R, P>::first && L + 2 >= R::layers ? inner / 8 * 8 : inner;
}

// A radix-2^k pass: the radix-2 layers of a group, from L on, computed at once below each node by the transform
// M::Network of the modulus type. With x^m - C the polynomial of that node, point j is first multiplied by the j-th
// power of C^(1/points). The twiddle factors inside the network then are roots of unity, the same below all nodes.
// The table stores these powers instead of the twiddle factors of the group's layers; their number is the same. Power j
// = (2 k + 1) 2^i is stored at node k of the layer that has i more layers of the group below it. For k = 0 the power
// equals the twiddle factor that transforms layer by layer use.
template <class R, u32 P, u32 L>
struct Group {
    using S = Pass<R, P>;
    using M = typename R::M;
    RF_CONST u32 end() {
        u32 l = L + 1;
        while (l < R::layers && group_of<R>(l) == L) l++;
        return l;
    }
    static constexpr u32 last = in_groups<R> ? end() : L + 1, layers = last - L, points = 1 << layers;
    static constexpr bool used = layers > 1;
    static_assert(group_of<R>(L) == L && last <= S::last, "a pass must contain whole groups of layers");
    // nodes: nodes of layer L below the node of a set (`Pass` in ring.cuh). part: networks per node; their points are
    // interleaved in registers.
    static constexpr u32 nodes = Tree<R>::nodes(L) / Tree<R>::nodes(S::first), part = S::span / nodes / points;

    // The factor of point j > 0 below a node; `section` is that of layer At, and the sections of later layers follow
    // it.
    template <u32 At = L>
    RF_FN typename M::Twiddle factor(const typename M::Twiddle* section, u32 top, u32 node, u32 j) {
        constexpr u32 lowest = points >> (At - L + 1);  // lowest set bit of the powers in layer At
        if constexpr (At + 1 < last) {
            if (j % (2 * lowest) != lowest) return factor<At + 1>(section + Tree<R>::nodes(At), top, node, j);
        }
        return twiddle_at<R, P, At>(section, top, (node << (At - L)) + j / (2 * lowest))[0];
    }
};

// True if layer L precedes End and begins a group of more than one layer.
template <class R, u32 P, u32 L, u32 End>
RF_CONST bool grouped() {
    if constexpr (in_groups<R> && L < End) return Group<R, P, L>::used;
    else return false;
}

// The forward layers of the group that begins at layer L of pass P.
template <class R, u32 P, u32 L>
RF_FN void forward_group(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table, u32 thread,
                         u32 node) {
    using S = Pass<R, P>;
    using G = Group<R, P, L>;
    using Network = typename R::M::template Network<G::layers, R::sixteenth>;
    RF_UNROLL
    for (u32 set = 0; set < S::sets; set++) {
        u32 top = L == 0 ? 0 : node * S::nodes + S::node(thread, set);
        RF_UNROLL
        for (u32 i = 0; i < G::nodes; i++) {
            RF_UNROLL
            for (u32 c = 0; c < G::part * S::vector; c++) {
                auto* at = x + (set * S::vector + c / G::part) * S::span + i * (S::span / G::nodes) + c % G::part;
                auto point = [&](u32 j) {
                    if (j == 0) return Network::in_first(at[0]);
                    if (starts_with_one<R, P> && i == 0) return Network::in(at[j * G::part]);
                    return m.point(at[j * G::part], G::factor(table + Tree<R>::forward(L), top, i, j));
                };
                Network::forward(point, [&](u32 j, auto value) { at[j * G::part] = Network::out(value); });
            }
        }
    }
}

// The forward layers from L to the end of pass P. If P > 0, the first layer uses the prefetched factors `ahead`.
template <class R, u32 P, u32 L, u32 B>
RF_FN void forward_layers(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                          u32 thread, u32 node, const Ahead<R, P, false>& ahead) {
    using S = Pass<R, P>;
    if constexpr (grouped<R, P, L, S::last>()) {
        forward_group<R, P, L>(m, x, table, thread, node);
        forward_layers<R, P, Group<R, P, L>::last, B>(m, x, table, thread, node, ahead);
    } else if constexpr (L < S::last) {
        constexpr u32 code = R::layer[L], radix = Tree<R>::radix(L);
        constexpr u32 nodes = Tree<R>::nodes(L) / Tree<R>::nodes(S::first), size = S::span / nodes, part = size / radix;
        constexpr u32 section = Tree<R>::forward(L);
        RF_UNROLL
        for (u32 set = 0; set < S::sets; set++) {
            u32 top = L == 0 ? 0 : node * S::nodes + S::node(thread, set);
            RF_UNROLL
            for (u32 i = 0; i < nodes; i++) {
                const u32 read = read_for<R, P, L, R::by_roots>(i);
                const auto* twiddle = table + section;
                if constexpr (R::cluster > 1) twiddle = twiddle_at<R, P, L>(twiddle, top, read);
                else twiddle += twiddle_slot<R, P, L>(top, read) * (radix - 1);
                if (ahead.used && P > 0 && L == S::first) twiddle = ahead.factor + set * (radix - 1);
                auto z = twiddle[0], root = z;
                if (read != i) root = table[Tree<R>::roots() + i % 8];
                RF_UNROLL
                for (u32 j = 0; j < part * S::vector; j++) {
                    auto* at = x + (set * S::vector + j / part) * S::span + i * size + j % part;
                    if (read != i) at[part] = m.mul(at[part], z);
                    if (code == 2 && starts_with_one<R, P> && i == 0) {
                        auto t = at[part];
                        at[part] = m.template sub<B>(at[0], t);
                        at[0] = m.add(at[0], t);
                    } else if constexpr (code == 2) {
                        forward_two<R, B>(m, at[0], at[part], root);
                    } else if constexpr (code == 6) {
                        auto t = m.mul(at[part], z), sum = m.add(at[0], at[part]);
                        if constexpr (Bound<R>::squeezed(B)) sum = m.template reduce<2 * B>(sum);
                        at[part] = m.template sub<R::M::product_bound>(sum, t);
                        at[0] = m.add(at[0], t);
                    } else {
                        auto z2 = twiddle[1];
                        auto s = table[Tree<R>::third_root];
                        forward_three<R, B>(m, at[0], at[part], at[2 * part], z, z2, s);
                    }
                }
            }
        }
        forward_layers<R, P, L + 1, Bound<R>::forward(code, B)>(m, x, table, thread, node, ahead);
    }
}

template <class R, u32 P, u32 B>
RF_FN void forward_passes(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                          unsigned char* shared, u32 thread, u32 node, const Ahead<R, P, false>& ahead = {}) {
    forward_layers<R, P, R::pass[P], B>(m, x, table, thread, node, ahead);
    if constexpr (P + 1 < R::passes) {
        constexpr u32 after = Bound<R>::forward_pass(P + 1);
        static_assert(after <= R::cell_capacity || !R::M::lazy, "residues between passes must fit in cells of shared memory");
        Ahead<R, P + 1, false> next;
        next.read(table + Tree<R>::forward(next.layer), thread, node);
        exchange<R, P, P + 1, (P > 0)>(x, shared, thread);
        forward_passes<R, P + 1, after>(m, x, table, shared, thread, node, next);
    }
}

// Bound of the evaluations that ntt_forward leaves, in multiples of q.
template <class R>
RF_CONST u32 ntt_forward_bound() {
    return Bound<R>::forward_pass(R::passes);
}

// in: coefficients < q in the layout of pass 0   out: evaluations < ntt_forward_bound q in that of the last pass.
// In a kernel of only some of the layers, the tile lies under node `node`, and its residues are those that the layers
// above have left.
template <class R>
RF_FN void ntt_forward(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                       unsigned char* shared, u32 thread, u32 node = 0) {
    forward_passes<R, 0, Bound<R>::forward_pass(0)>(m, x, table, shared, thread, node);
}

// Gentleman-Sande butterfly.
// in: a, b < B q, where 2 B q fits a word   out: a + b, reduced if the next layer needs it, and (a - b) z
template <class R, u32 B>
RF_FN void inverse_two(const typename R::M& m, typename R::M::Word& a, typename R::M::Word& b,
                       typename R::M::Twiddle z) {
    constexpr u32 sum = R::M::lazy ? Bound<R>::inverse_sum(2, B) : 1;
    auto d = m.template sub<B>(a, b);
    a = m.add(a, b);
    if constexpr (R::M::lazy && Bound<R>::inverse(2, B) < sum) a = m.template reduce<sum>(a);
    b = m.mul(d, z);
}

// Radix-3 Gentleman-Sande butterfly; s is a third root of unity.   in: a, b, c < B q
// out: their sum, z (a + s^2 b + s c), z^2 (a + s b + s^2 c), not yet multiplied by a scale
template <class R, u32 B>
RF_FN void inverse_three(const typename R::M& m, typename R::M::Word& a, typename R::M::Word& b,
                         typename R::M::Word& c, typename R::M::Twiddle z, typename R::M::Twiddle z2,
                         typename R::M::Twiddle s) {
    constexpr u32 kept = R::M::lazy ? Bound<R>::before_inverse(3, B) : 1;
    // if the sum of three does not fit a word, the sum of two is reduced first
    constexpr bool squeezed = R::M::lazy && 3 * kept > R::capacity;
    constexpr u32 sum = !R::M::lazy ? 1 : squeezed ? kept + R::M::product_bound : Bound<R>::inverse_sum(3, B);
    auto two = [&](auto x) {
        if constexpr (squeezed) x = m.template reduce<2 * kept>(x);
        return x;
    };
    if constexpr (kept != B) {
        a = m.template canonical<B>(a);
        b = m.template canonical<B>(b);
        c = m.template canonical<B>(c);
    }
    auto t = m.mul(m.template sub<kept>(c, b), s);
    auto u = m.add(two(m.template sub<kept>(a, b)), t);
    auto v = m.template sub<R::M::product_bound>(two(m.template sub<kept>(a, c)), t);
    a = m.add(two(m.add(a, b)), c);
    if constexpr (R::M::lazy && Bound<R>::inverse(3, B) < sum) a = m.template reduce<sum>(a);
    b = m.mul(u, z);
    c = m.mul(v, z2);
}

// The inverse layers of the group that begins at layer L of pass P.
template <class R, u32 P, u32 L, u32 Scale, u32 Items>
RF_FN void inverse_group(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                         const typename R::M::Twiddle* header, u32 thread, u32 node) {
    using S = Pass<R, P>;
    using G = Group<R, P, L>;
    using Network = typename R::M::template Network<G::layers, R::sixteenth>;
    RF_UNROLL
    for (u32 set = 0; set < S::sets; set++) {
        u32 top = L == 0 ? 0 : node * S::nodes + S::node(thread, set);
        RF_UNROLL
        for (u32 i = 0; i < G::nodes; i++) {
            RF_UNROLL
            for (u32 c = 0; c < G::part * S::vector * Items; c++) {
                auto* at = x + S::group(set, c / G::part) + i * (S::span / G::nodes) + c % G::part;
                auto point = [&](u32 j) { return j == 0 ? Network::in_first(at[0]) : Network::in(at[j * G::part]); };
                Network::inverse(point, [&](u32 j, auto sum) {
                    auto value = Network::out(sum);
                    if (j > 0 && !(starts_with_one<R, P> && i == 0))
                        value = m.mul(value, G::factor(table + Tree<R>::inverse(L), top, i, j));
                    at[j * G::part] = L == 0 ? m.mul(value, header[Scale]) : value;
                });
            }
        }
    }
}

// The layers from L - 1 down to To of inverse pass P, for the tiles of `Items` items. The first layer uses the
// prefetched factors `ahead`, unless this pass runs first. Layer 0 multiplies by the scales from header[Scale] on.
template <class R, u32 P, u32 L, u32 B, u32 Scale, u32 Items, u32 To = Pass<R, P>::first>
RF_FN void inverse_layers(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                          const typename R::M::Twiddle* header, u32 thread, u32 node,
                          const Ahead<R, P, true>& ahead = {}) {
    using S = Pass<R, P>;
    constexpr u32 group = L > To ? group_of<R>(L - 1) : L;  // the group of layer L - 1
    if constexpr (group + 1 < L) {
        static_assert(group >= To, "To must not split a group of layers");
        inverse_group<R, P, group, Scale, Items>(m, x, table, header, thread, node);
        inverse_layers<R, P, group, 1, Scale, Items, To>(m, x, table, header, thread, node, ahead);
    } else if constexpr (L > To) {
        constexpr u32 code = R::layer[L - 1], radix = Tree<R>::radix(L - 1);
        constexpr u32 nodes = Tree<R>::nodes(L - 1) / Tree<R>::nodes(S::first), size = S::span / nodes, part = size / radix;
        constexpr bool scaled = L == 1;
        const auto* section = scaled ? header + (Scale + 1) : table + Tree<R>::inverse(L - 1);
        RF_UNROLL
        for (u32 set = 0; set < S::sets; set++) {
            u32 top = scaled ? 0 : node * S::nodes + S::node(thread, set);
            RF_UNROLL
            for (u32 i = 0; i < nodes; i++) {
                const u32 read = read_for<R, P, L - 1, R::by_roots && Items == 1>(i);
                const auto* twiddle = twiddle_at<R, P, L - 1>(section, top, read);
                if (ahead.used && P + 1 < R::passes && L == S::last && i == 0) twiddle = ahead.factor + set * (radix - 1);
                auto z = twiddle[0];
                RF_UNROLL
                for (u32 j = 0; j < part * S::vector * Items; j++) {
                    auto* at = x + S::group(set, j / part) + i * size + j % part;
                    if constexpr (code == 2 && scaled) {
                        // the product with the scale accepts any word, so the sum is not reduced
                        auto difference = m.template sub<B>(at[0], at[part]);
                        at[0] = m.mul(m.add(at[0], at[part]), header[Scale]);
                        at[part] = m.mul(difference, z);
                    } else if (code == 2 && starts_with_one<R, P> && i == 0) {
                        auto difference = m.template sub<B>(at[0], at[part]);
                        at[0] = m.add(at[0], at[part]);
                        at[part] = difference;
                    } else if constexpr (code == 2) {
                        inverse_two<R, B>(m, at[0], at[part], z);
                        if (read != i) at[part] = m.mul(at[part], table[Tree<R>::inverse_roots() + i % 8]);
                    } else if constexpr (code == 6) {
                        auto high = m.mul(m.template sub<B>(at[0], at[part]), z);
                        auto low = m.mul(at[0], header[Scale]);
                        auto back = m.mul(high, header[Scale + 2]);
                        at[0] = m.template sub<R::M::product_bound>(low, back);
                        at[part] = high;
                    } else {
                        auto z2 = twiddle[1];
                        auto s = table[Tree<R>::third_root];
                        inverse_three<R, B>(m, at[0], at[part], at[2 * part], z, z2, s);
                    }
                    if constexpr (scaled && code == 3) at[0] = m.mul(at[0], header[Scale]);
                }
            }
        }
        inverse_layers<R, P, L - 1, Bound<R>::inverse(code, B), Scale, Items, To>(m, x, table, header, thread, node, ahead);
    }
}

template <class R, u32 P, u32 B, u32 Scale, u32 Items>
RF_FN void inverse_passes(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                          const typename R::M::Twiddle* header, unsigned char* shared, u32 thread, u32 node,
                          const Ahead<R, P, true>& ahead = {}) {
    inverse_layers<R, P, R::pass[P + 1], B, Scale, Items>(m, x, table, header, thread, node, ahead);
    if constexpr (P > 0) {
        constexpr u32 after = R::M::lazy ? Bound<R>::inverse_pass(P, B) : 1;
        constexpr u32 kept = R::M::lazy ? Bound<R>::in_cell(after) : 1;
        if constexpr (kept != after) {
            RF_UNROLL
            for (u32 r = 0; r < R::per_thread * Items; r++) x[r] = m.template reduce<after>(x[r]);
        }
        Ahead<R, P - 1, true> next;
        next.read(next.layer == 0 ? header + (Scale + 1) : table + Tree<R>::inverse(next.layer), thread, node);
        exchange<R, P, P - 1, (P + 1 < R::passes), Items>(x, shared, thread);
        inverse_passes<R, P - 1, kept, Scale, Items>(m, x, table, header, shared, thread, node, next);
    }
}

// Bound of ntt_inverse's coefficients before the final canonical reduction, in multiples of q.
template <class R, u32 B, bool Product>
RF_CONST u32 ntt_inverse_bound() {
    if (!R::M::lazy) return 1;
    constexpr u32 product = R::M::product_bound;
    if (R::pass[0] == 0 && R::layers > 0) return (R::layer[0] == 6 ? 2 : 1) * product;  // for layer 6, a difference of two
    if (R::layers == 0) return product;
    u32 b = B;
    for (u32 p = R::passes; p > 1; p--) b = Bound<R>::in_cell(Bound<R>::inverse_pass(p - 1, b));
    return Bound<R>::inverse_pass(0, b);
}

// in: evaluations < B q (B <= 2) in the layout of the last pass   out: canonical coefficients in the layout of pass 0
// Product: true if the evaluations are products that lack the product factor; the scale then includes it. `header`
// holds the scales: the table itself, or the Constants of the limb. The tiles of `Items` items are transformed at once.
// In a kernel of only some of the layers, the tile lies under node `node`. Its inputs are what the layers below have
// left, and its outputs may be lazy, as the layers above accept them.
template <class R, u32 B, bool Product, u32 Items = 1>
RF_FN void ntt_inverse(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                       const typename R::M::Twiddle* header, unsigned char* shared, u32 thread, u32 node = 0) {
    constexpr u32 scale = Product ? Tree<R>::product_scale : Tree<R>::scale;
    constexpr u32 before = Bound<R>::inverse_below(B), after = ntt_inverse_bound<R, before, Product>();
    inverse_passes<R, R::passes - 1, before, scale, Items>(m, x, table, header, shared, thread, node);
    RF_UNROLL
    for (u32 r = 0; r < R::per_thread * Items; r++) {
        if constexpr (R::layers == 0) x[r] = m.mul(x[r], header[scale]);
        if constexpr (R::pass[0] == 0 || !Bound<R>::kept) x[r] = m.template canonical<after>(x[r]);
    }
}

// ntt_inverse with the scales in the table's header.
template <class R, u32 B, bool Product>
RF_FN void ntt_inverse(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                       unsigned char* shared, u32 thread) {
    ntt_inverse<R, B, Product>(m, x, table, table, shared, thread);
}

// The functions below compute evaluations after fewer layers, for formats that fix the depth of the transform: only
// layers of the last pass are inverted, which needs no exchange.

// Bound of the evaluations that ntt_ascend leaves, in multiples of q.
template <class R, u32 To, u32 B>
RF_CONST u32 ntt_ascend_bound() {
    u32 b = B;
    for (u32 l = R::layers; l > To; l--) b = Bound<R>::inverse(R::layer[l - 1], b);
    return b;
}

// in: evaluations < B q (B <= 2) in the layout of the last pass, which begins at layer To or before it, To > 0
// out: evaluations after the first To layers, multiplied by the radices of the inverted layers, < ntt_ascend_bound q
template <class R, u32 To, u32 B>
RF_FN void ntt_ascend(const typename R::M& m, typename R::M::Word* x, const typename R::M::Twiddle* table,
                      u32 thread) {
    static_assert(To >= Pass<R, R::passes - 1>::first && To > 0, "the layers must all be in the last pass");
    inverse_layers<R, R::passes - 1, R::layers, B, Tree<R>::scale, 1, To>(m, x, table, table, thread, 0);
}

}  // namespace rf
