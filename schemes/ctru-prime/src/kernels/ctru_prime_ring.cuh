// Rows of CTRU-Prime, whichever way products are made: numbers modulo q, small polynomials, packed ciphertexts. Include it
// after the prelude, which includes the way: ctru_prime_transform.cuh or ctru_prime_tensor.cuh, each of them with
//   struct Product               two factors at work, `large` with |x| <= q / 2 and `small` with |x| < 64
//     take(factor, get)          a factor from its coefficients get(c), c < n
//     prepare(factor, get, to)   what is prepared of a factor
//     take_prepared(factor, from)
//     multiply()                 their product over the integers; the large factor stays
//     fold(get)                  that modulo x^n - x - 1: get(coefficient) to cells, c by thread c mod Rq::threads
//   resident                     blocks that a multiprocessor should hold at once
// All threads of the row call these, in this order. They meet at sync_row between writing to memory and a `take` of it, and
// between a `take` and writing to cells; `multiply` ends where they have met, and what `fold` left others read after
// sync_row.
//
// Cells are words of the row's shared memory, Rq::n of them.
#pragma once
#include "ring.cuh"
#include "sample.cuh"
#include "shoup32.cuh"

namespace rf {

constexpr u32 q = Set::q, half = Rq::n / 2;
static_assert(Set::n <= half && 2 * Set::n <= Rq::n && Rq::row_bytes >= 4 * Rq::n, "a product must fit the row");
static_assert(Rq::threads % 32 == 0, "warps must not share rows");

RF_FN u32* cells_of(const Row<Rq>& row) { return (u32*)row.shared; }

// in: x < q   out: the number of least absolute value that is x mod q
RF_FN i32 centre(u32 x) { return (i32)(x - (q & 0u - (q / 2 - x >> 31))); }

// in: |x| < 2^30   out: x mod q, < q
RF_FN u32 reduce_integer(i32 x) {
    constexpr u32 above = (1u << 30) / q * q, ratio = (u32)((1ull << 32) / q);
    return sub_once(barrett((u32)x + above, q, ratio), q);
}

// Coefficients that fill whole words of a stream.
constexpr u32 sample_unit = Set::eta % 2 == 0 ? 8 : 16, sample_words = sample_unit * Set::eta / 16;
static_assert(Set::coins_pitch >= (Set::n + sample_unit - 1) / sample_unit * sample_words * 4, "units are read whole");

// A small polynomial of a stream to cells: to(coefficient, its place). Some places beyond n are written, too.
// All threads of the row call it, and meet at its end.
template <class To>
RF_FN void sample_row(const Row<Rq>& row, const u32* stream, To to) {
    for (u32 unit = row.thread; unit * sample_unit < Set::n; unit += Rq::threads) {
        u32 words[sample_words];
        i32 sample[sample_unit];
        RF_UNROLL
        for (u32 i = 0; i < sample_words; i++) words[i] = stream[unit * sample_words + i];
        centred_binomial<Set::eta, sample_unit>(words, sample);
        Move<u32, sample_unit, 16>::store(cells_of(row) + unit * sample_unit,
                                          [&](u32 i) { return to(sample[i], unit * sample_unit + i); });
    }
    sync_row<Rq>();
}

// The bytes get(i), i < Count, by the threads of a row: put(i, byte), after each thread has got all of its own.
template <u32 Count, class Get, class Put>
RF_FN void move_bytes(u32 thread, Get get, Put put) {
    constexpr u32 each = (Count + Rq::threads - 1) / Rq::threads;
    u32 bytes[each];
    RF_UNROLL
    for (u32 k = 0; k < each; k++) {
        u32 i = thread + k * Rq::threads;
        bytes[k] = i < Count ? get(i) : 0;
    }
    RF_UNROLL
    for (u32 k = 0; k < each; k++) {
        u32 i = thread + k * Rq::threads;
        if (i < Count) put(i, bytes[k]);
    }
}

// A key of `Bytes` bytes, zeros up to a whole vector.
template <u32 Bytes>
RF_FN void store_key(const Row<Rq>& row, const u8* key, u8* to) {
    if (!row.live) return;
    move_bytes<(Bytes + 15) / 16 * 16>(
        row.thread, [&](u32 i) -> u32 { return i < Bytes ? key[i] : 0; }, [&](u32 i, u32 byte) { to[i] = (u8)byte; });
}

// The item of a row; threads beyond the end compute along with the first one.
RF_FN u64 item_of(const Row<Rq>& row, u64 first) { return row.live ? row.index : first; }

// out: the least number that a thread of the row has, for all of them.   All threads of the row call it; scratch: a word
// for each of its warps.
RF_FN u32 least_in_row(const Row<Rq>& row, u32 number, u32* scratch) {
    RF_UNROLL
    for (u32 step = 1; step < 32; step *= 2) number = min_word(number, __shfl_xor_sync(0xffffffff, number, step));
    scratch[row.thread / 32] = number;
    sync_row<Rq>();
    RF_UNROLL
    for (u32 warp = 0; warp < Rq::threads / 32; warp++) number = min_word(number, scratch[warp]);
    return number;
}

// Eight numbers of Set::q2_bits bits as two words of 64 bits: the first eight bytes, and those above.
struct Unit {
    static constexpr u32 width = Set::q2_bits, bytes = width;
    u64 low, high;

    RF_METHOD u64 byte(u32 i) const { return (i < 8 ? low >> 8 * i : high >> 8 * (i - 8)) & 0xff; }
    // in: values < 2^width
    RF_FN Unit pack(const u32* values) {
        u64 halves[2] = {0, 0};
        RF_UNROLL
        for (u32 j = 0; j < 8; j++) halves[j / 4] |= (u64)values[j] << width * (j % 4);
        return Unit{halves[0] | halves[1] << 4 * width, halves[1] >> (64 - 4 * width)};
    }
    RF_METHOD void unpack(u32* values) const {
        u64 halves[2] = {low, low >> 4 * width | high << (64 - 4 * width)};
        RF_UNROLL
        for (u32 j = 0; j < 8; j++) values[j] = (u32)(halves[j / 4] >> width * (j % 4)) & ((1u << width) - 1);
    }
};
constexpr u32 units = (Set::n + 7) / 8;

}  // namespace rf
