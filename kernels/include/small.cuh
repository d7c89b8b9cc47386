// Ring elements with small integer coefficients, reduced modulo each modulus of the ring; kernels read the moduli from
// memory.
//
// The generated struct S gives the type S::Store of residues of S::limbs 32-bit words and the degree S::n. A thread
// stores S::each residues at once (1, 2 or 4; it divides n). A block has S::threads threads and S::threads
// coefficients. A cell is four coefficients; the generated struct C says how `Spread` assigns cells to blocks.
#pragma once
#include "mod256.cuh"
#include "packed.cuh"
#include "spread.cuh"

namespace rf {

// Added to small integers to make them non-negative; larger than all magnitudes.
constexpr u32 small_bias = 1 << 14;

// in: a magnitude; a sign, 1 for negative   out: the signed integer plus small_bias
RF_FN u32 biased(u32 magnitude, u32 sign) { return small_bias + ((magnitude ^ 0 - sign) + sign); }

// Shoup multiplication of small integers by a known factor w, modulo q of N 32-bit limbs. c = -2^14 w mod q cancels the
// bias. Table: floor(2^32 w / q); floor(2^32 c / q); w; c; -q mod 2^(32 N); zeros up to a multiple of 16 bytes.
template <u32 N>
struct SmallMultiples {
    static constexpr u32 words = (3 * N + 2 + 3) / 4 * 4;
    u32 known[words];

    RF_METHOD explicit SmallMultiples(const u32* table) {
        RF_UNROLL
        for (u32 i = 0; i < words / 4; i++) {
            const u32x4 four = ((const u32x4*)table)[i];
            known[4 * i] = four.x, known[4 * i + 1] = four.y, known[4 * i + 2] = four.z, known[4 * i + 3] = four.w;
        }
    }

    // in: biased = x + 2^14, |x| <= 2^14   out: r = w x mod q
    // The quotient is exact or one too small, and the latter only if its fraction is above 1 - 2^-17. So q is
    // subtracted if the fraction has its top bit set and r - q, known modulo 2^(32 N), does not.
    RF_METHOD void multiple(u32 biased, u32* r) const {
        const u32 *w = known + 2, *c = w + N, *minus_q = c + N;
        const u64 quotient = mad_wide(biased, known[0], known[1]);
        u32 less[N];
        RF_UNROLL
        for (u32 i = 0; i < N; i++) r[i] = c[i];
        add_multiple(r, w, biased);
        add_multiple(r, minus_q, high(quotient));
        add_limbs<N>(less, r, minus_q);
        select_limbs<N>(r, low(quotient) & ~less[N - 1] & 0x80000000, less, r);
    }

  private:
    // out: x += digit a mod 2^(32 N)
    static RF_METHOD void add_multiple(u32* x, const u32* a, u32 digit) {
        row_mad_low<N>(x, a, digit);
        if constexpr (N > 1) row_mad_low<N - 1>(x + 1, a + 1, digit);
    }
};

template <class E>
RF_FN E stored_limbs(const u32* limbs) {
    if constexpr (sizeof(E) > 8) {
        E x;
        RF_UNROLL
        for (u32 i = 0; i < sizeof(E) / 4; i++) x.limb[i] = limbs[i];
        return x;
    } else if constexpr (sizeof(E) == 8) return join(limbs[0], limbs[1]);
    else return (E)limbs[0];
}

// in: the block's small integers, biased, in shared memory   out: elements that have these integers as coefficients,
//     modulo all moduli
// Adjacent threads store adjacent vectors of one limb; S::each groups of threads alternate between the limbs.
template <class S, class C>
RF_FN void store_small(const u32* integers, const u32* table, typename S::Store* out, u32 moduli, u64 distance, u64 first, u64 end) {
    using M = SmallMultiples<S::limbs>;
    constexpr u32 vectors = S::threads / S::each, bytes = S::each * sizeof(typename S::Store);
    const u32 slot = threadIdx.x % vectors * S::each;
    const Spread<C> at(first, end, slot / 4);
    const u32 cell = 4 * at.cell + slot % 4;
    if (!at.live || cell >= S::n) return;
    u32 x[S::each];
    RF_UNROLL
    for (u32 i = 0; i < S::each; i++) x[i] = integers[slot + i];
    u32 row = threadIdx.x / vectors;
    typename S::Store* to = out + at.item * distance + (u64)row * S::n + cell;
    table += row * M::words;
    for (; row < moduli; row += S::each, table += S::each * M::words, to += S::each * S::n) {
        const M q(table);
        Move<typename S::Store, S::each, bytes>::template store<true>(to, [&](u32 i) {
            u32 r[S::limbs];
            q.multiple(x[i], r);
            return stored_limbs<typename S::Store>(r);
        });
    }
}

}  // namespace rf
