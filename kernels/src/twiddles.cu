// The table of twiddle factors of a modulus (layout: Tree in ring.cuh), one thread per table entry.
#include "ring.cuh"
#include "prelude.cuh"
using namespace rf;

// Input from the host: the modulus and five residues in the order of the enum below, plain or, for 256 bits, in
// Montgomery form.
template <class M>
struct Roots {
    M m;
    u32 words[5][sizeof(typename M::Word) / 4];
};
enum { START, STEP, SCALE, FACTOR, HALF_SIXTH };

// The recipe of a table entry: START^a STEP^b, or its inverse if `inverse`, times SCALE, FACTOR and HALF_SIXTH where
// the flag of that name is set. The capitalized names are residues of `Roots`.
struct Entry {
    u64 a = 0, b = 0;
    bool inverse = false, scale = false, factor = false, half_sixth = false;
};

// Arithmetic on residues as they are stored.
template <class R>
struct Field {
    using Word = typename R::M::Word;
    const Roots<typename R::M>* roots;

    RF_METHOD Word root(u32 which) const {
        const u32* words = roots->words[which];
        if constexpr (sizeof(Word) == 4) return words[0];
        else if constexpr (sizeof(Word) == 8) return join(words[0], words[1]);
        else return from_limbs(words);
    }
    RF_METHOD Word one() const {
        if constexpr (sizeof(Word) < 32) return 1;
        else return from_limbs(roots->m.one);
    }
    RF_METHOD Word mul(Word a, Word b) const {
        if constexpr (sizeof(Word) < 32) return roots->m.mul_plain(a, b);
        else return roots->m.mul_montgomery(a, b);
    }
    RF_METHOD Word pow(Word a, u64 e) const {
        Word power = one();
        for (; e; e >>= 1) {
            if (e & 1) power = mul(power, a);
            a = mul(a, a);
        }
        return power;
    }
    // out: a^(q-2), the inverse of a modulo a prime q
    RF_METHOD Word inverse(Word a) const {
        constexpr u32 limbs = sizeof(Word) / 4;
        u32 q[limbs];
        if constexpr (limbs == 8) {
            for (u32 i = 0; i < limbs; i++) q[i] = roots->m.q[i];
        } else {
            for (u32 i = 0; i < limbs; i++) q[i] = (u32)((u64)roots->m.q >> 32 * i);
        }
        Word power = one();
        u32 borrow = 2;
        for (u32 i = 0; i < limbs; i++) {
            u32 limb = q[i] - borrow;
            borrow = q[i] < borrow;
            for (u32 bit = 0; bit < 32; bit++, a = mul(a, a)) {
                if (limb >> bit & 1) power = mul(power, a);
            }
        }
        return power;
    }
    RF_METHOD Word value(const Entry& entry) const {
        Word w = mul(pow(root(START), entry.a), pow(root(STEP), entry.b));
        if (entry.inverse) w = inverse(w);
        bool named[3] = {entry.scale, entry.factor, entry.half_sixth};
        u32 residue[3] = {SCALE, FACTOR, HALF_SIXTH};
        for (u32 i = 0; i < 3; i++) {
            if (named[i]) w = mul(w, root(residue[i]));
        }
        return w;
    }

  private:
    RF_METHOD Word from_limbs(const u32* limbs) const {
        Word w;
        for (u32 i = 0; i < 8; i++) w.limb[i] = limbs[i];
        return w;
    }
};

// The exponents of each table entry. They depend only on the shape of the factorization tree.
template <class R>
struct Powers {
    using Layers = Tree<R>;
    static constexpr bool two_trees = R::layer[0] == 6;
    static constexpr u64 leaves = Layers::leaf_count >> two_trees;

    // The constant of the left child of a node of layer L; if L == R::layers, the constant of leaf `node` itself.
    template <u32 L>
    RF_FN Entry constant(u32 node) {
        Entry entry;
        if constexpr (L == 0 && two_trees) {
            entry.a = leaves;
        } else {
            constexpr u32 radix = L < R::layers ? Layers::radix(L < R::layers ? L : 0) : 1;
            constexpr u64 above = Layers::nodes(L) >> (L > 0 && two_trees);
            entry.a = leaves / above / radix * (two_trees && node >= above ? 5 : 1);
            entry.b = exponent<L>(node, leaves) / radix;
        }
        return entry;
    }
    // The exponent of STEP in the constant of a node of layer L: `weight` times the fraction whose mixed-radix
    // digits after the point are those of the node number, least significant first.
    template <u32 L>
    RF_FN u64 exponent(u32 node, u64 weight) {
        if constexpr (L == 0) {
            return 0;
        } else if constexpr (R::layer[L - 1] == 6) {
            return 0;
        } else {
            constexpr u32 radix = Layers::radix(L - 1);
            return node % radix * (weight / radix) + exponent<L - 1>(node / radix, weight / radix);
        }
    }
    // An entry of the sections of layers L and later; `entry` counts from the start of layer L's section.
    template <u32 L>
    RF_FN Entry layer(u32 entry, bool inverse) {
        if constexpr (L == R::layers) {
            return Entry{};
        } else {
            constexpr u32 each = Layers::radix(L) - 1, count = Layers::nodes(L) * each;
            if (entry >= count) return layer<L + 1>(entry - count, inverse);
            // in a group of layers, the entry is an odd power of the entry of the group's first node
            const u32 node = Layers::template node_at<L>(entry / each), k = node % (Layers::nodes(L) / Layers::nodes(group_of<R>(L)));
            Entry z = constant<L>(node - k);
            z.a *= 2 * k + 1, z.b *= 2 * k + 1;
            if (entry % each == 1) z.a *= 2, z.b *= 2;
            z.inverse = inverse && R::layer[L] != 6;
            return z;
        }
    }
    // One of the eight header entries of the table.
    RF_FN Entry head(u32 entry) {
        constexpr u32 code = R::layer[0];
        constexpr bool thirds = R::layers > 0 && R::layer[R::layers > 0 ? R::layers - 1 : 0] == 3;
        Entry e;
        e.factor = entry >= Layers::product_scale;
        if (entry == Layers::third_root) e.b = thirds ? leaves / 3 : 0;
        if (entry == Layers::third_root || entry == Layers::product_factor) return e;
        u32 part = (entry - 1) % 3;
        if (part > 0 && code != 0) {
            if (code == 2 && part == 2) return Entry{};
            e = constant<0>(0);
            if (code == 6 && part == 2) return e;
            e.factor = entry >= Layers::product_scale;
            e.inverse = code != 6;
            if (code == 6) e.a = 0, e.half_sixth = true;
            if (part == 2) e.a *= 2;
        }
        if (part > 0 && code == 0) return Entry{};
        e.scale = true;
        return e;
    }
    // One of the eight roots of unity at the end of the table (entry < 8), or the inverse of one.
    RF_FN Entry root(u32 entry) {
        u32 i = entry % 8;
        Entry e;
        e.b = (i & 1) * (leaves / 4) + (i >> 1 & 1) * (leaves / 8) + (i >> 2) * (leaves / 16);
        e.inverse = entry >= 8;
        return e;
    }
    RF_FN Entry of(u32 entry) {
        if (entry < 8) return head(entry);
        if (entry < Layers::inverse(0)) return layer<0>(entry - Layers::forward(0), false);
        if (entry < Layers::leaves()) return layer<0>(entry - Layers::inverse(0), true);
        if (entry >= Layers::roots()) return root(entry - Layers::roots());
        u32 leaf = entry - Layers::leaves();
        if (R::base > 1 && leaf < Layers::leaf_count) return constant<R::layers>(Layers::template node_at<R::layers>(leaf));
        return Entry{};
    }
};

extern "C" __global__ void twiddles(const Roots<Rq::M>* roots, Rq::M::Twiddle* table, u64 first, u64 end) {
    u64 index = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= end) return;
    Field<Rq> field{roots};
    table[index] = roots->m.twiddle(field.value(Powers<Rq>::of((u32)index)));
}
