// Mixed-radix packing of public keys (`Encode` of NTRU Prime), level by level. A level merges adjacent pairs of digits,
// all pairs in parallel. Include this header after the generated header prelude.cuh.
//
// Cells (words of shared memory) hold the digits: the first level from cell 0, the other levels one after another from
// cell Rq::n / 2.
#pragma once
#include "ctru_prime_ring.cuh"

namespace rf {

// Constants of level L: one of the Set::levels levels, or the single digit that remains after them.
template <u32 L>
struct Level {
    static constexpr u32 len = Set::level_len[L], modulus = Set::level_modulus[L], last = Set::level_last[L];
    static constexpr u32 each = Set::level_each[L], final = Set::level_final[L];  // bytes of a pair, of the last pair
    static constexpr u32 offset = Set::level_offset[L], at = Set::level_at[L], pairs = len / 2;
};
static_assert(Level<Set::levels>::at < Rq::n && Level<0>::len <= Rq::n / 2, "the digits of all levels must fit a row");

// Appends Count bytes to r: returns r 256^Count + the little-endian number at `bytes`.
template <u32 Count>
RF_FN u32 widen(u32 r, const u8* bytes) {
    RF_UNROLL
    for (u32 i = Count; i > 0; i--) r = r << 8 | bytes[i - 1];
    return r;
}

// Writes the Count lowest bytes of r, little-endian, and returns r / 256^Count, rounded down.
template <u32 Count>
RF_FN u32 narrow(u32 r, u8* bytes) {
    RF_UNROLL
    for (u32 i = 0; i < Count; i++, r >>= 8) bytes[i] = (u8)r;
    return r;
}

// Unpacks any bytes of a key to digits < q in the cells.
// All threads of the row must call it. It ends with a barrier.
template <u32 L = 0>
RF_FN void decode_key(const u8* bytes, u32* cells, u32 thread) {
    using V = Level<L>;
    const u8* from = bytes + V::offset;
    u32* digits = cells + V::at;
    if constexpr (L == Set::levels) {
        if (thread == 0) digits[0] = widen<V::each>(0, from) % V::last;
    } else {
        decode_key<L + 1>(bytes, cells, thread);
        const u32* above = cells + Level<L + 1>::at;
        for (u32 k = thread; k < V::pairs; k += Rq::threads) {
            bool last = k == V::pairs - 1;
            const u8* place = from + k * V::each;
            u32 r = last ? widen<V::final>(above[k], place) : widen<V::each>(above[k], place);
            u32 quotient = r / V::modulus;
            digits[2 * k] = r - quotient * V::modulus;
            digits[2 * k + 1] = last && V::len % 2 == 0 ? quotient % V::last : quotient % V::modulus;
        }
        if (V::len % 2 == 1 && thread == 0) digits[V::len - 1] = above[V::pairs];
    }
    sync_row<Rq>();
}

// Copies the bytes of a public key to row.extra and unpacks them to digits < q in the cells.
// All threads of the `row` must call it. It ends with a barrier.
RF_FN void load_key(const Row<Rq>& row, const u8* key) {
    move_bytes<Set::public_key>(
        row.thread, [&](u32 i) -> u32 { return key[i]; }, [&](u32 i, u32 byte) { row.extra[i] = (u8)byte; });
    sync_row<Rq>();
    decode_key(row.extra, cells_of(row), row.thread);
}

// Packs the digits < q in the cells to the bytes of a key.
// All threads of the row must call it. When it returns, cells below Rq::n / 2 may be reused.
template <u32 L = 0>
RF_FN void encode_key(u32* cells, u8* bytes, u32 thread) {
    using V = Level<L>;
    u8* to = bytes + V::offset;
    const u32* digits = cells + V::at;
    if constexpr (L == Set::levels) {
        if (thread == 0) narrow<V::each>(digits[0], to);
    } else {
        u32* above = cells + Level<L + 1>::at;
        for (u32 k = thread; k < V::pairs; k += Rq::threads) {
            u32 r = digits[2 * k] + V::modulus * digits[2 * k + 1];
            u8* place = to + k * V::each;
            above[k] = k == V::pairs - 1 ? narrow<V::final>(r, place) : narrow<V::each>(r, place);
        }
        if (V::len % 2 == 1 && thread == 0) above[V::pairs] = digits[V::len - 1];
        sync_row<Rq>();
        encode_key<L + 1>(cells, bytes, thread);
    }
}

}  // namespace rf
