// Polynomials of CTRU-Prime: residues modulo q, small polynomials, packed ciphertexts. A row is the memory of one
// polynomial and the Rq::threads threads that share it.
//
// Include this header after the generated header prelude.cuh, which includes either ctru_prime_transform.cuh or
// ctru_prime_tensor.cuh. Each of these defines:
//
//   struct Product               Two operands, `large` with |x| <= q / 2 and `small` with |x| < 64.
//     take(operand, get)         Loads an operand from its coefficients get(c), c < n.
//     prepare(operand, get, to)  Writes the prepared form of an operand (evaluations, or digits) to memory.
//     take_prepared(operand, from)  Loads an operand from that form.
//     multiply()                 Computes the product over the integers; keeps the large operand.
//     fold(get)                  Reduces the product mod x^n - x - 1; cell c becomes get(coefficient c).
//   resident                     The number of blocks that should reside on a multiprocessor at once.
//
// All threads of the row must call these functions, in this order. Thread c mod Rq::threads writes cell c in `fold`. A
// sync_row is needed between writing to memory and a `take` from it, and between a `take` and writing to cells.
// `multiply` ends with a barrier. After `fold`, other threads may read the cells only after a sync_row.
//
// Cells are the first Rq::n words of the row's shared memory.
#pragma once
#include "ring.cuh"
#include "sample.cuh"
#include "shoup32.cuh"

namespace rf {

constexpr u32 q = Set::q, half = Rq::n / 2;
static_assert(Set::n <= half && 2 * Set::n <= Rq::n && Rq::row_bytes >= 4 * Rq::n, "a product must fit the row");
static_assert(Rq::threads % 32 == 0, "a row must have whole warps");

RF_FN u32* cells_of(const Row<Rq>& row) { return (u32*)row.shared; }

// Returns the centred residue of x < q, with absolute value at most q / 2.
RF_FN i32 centre(u32 x) { return (i32)(x - (q & 0u - (q / 2 - x >> 31))); }

// Returns x mod q, < q, for |x| < 2^30.
RF_FN u32 reduce_integer(i32 x) {
    constexpr u32 above = (1u << 30) / q * q, ratio = (u32)((1ull << 32) / q);
    return sub_once(barrett((u32)x + above, q, ratio), q);
}

// The number of coefficients whose samples fill whole 32-bit words of a stream of coins, the pseudorandom bytes for one
// polynomial.
constexpr u32 sample_unit = Set::eta % 2 == 0 ? 8 : 16, sample_words = sample_unit * Set::eta / 16;
static_assert(Set::coins_pitch >= (Set::n + sample_unit - 1) / sample_unit * sample_words * 4,
              "a stream must have whole sampling units");

// Samples a small polynomial from a stream of coins, and writes to(coefficient c, c) to cell c. Also writes some cells
// past n. All threads of the `row` must call it. It ends with a barrier.
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

// Moves Count bytes, shared among the threads of a row. Each thread reads all its bytes with get(i), and then writes
// each with put(i, byte).
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

// Stores a key of `Bytes` bytes, followed by zeros up to a multiple of 16 bytes.
template <u32 Bytes>
RF_FN void store_key(const Row<Rq>& row, const u8* key, u8* to) {
    if (!row.live) return;
    move_bytes<(Bytes + 15) / 16 * 16>(
        row.thread, [&](u32 i) -> u32 { return i < Bytes ? key[i] : 0; }, [&](u32 i, u32 byte) { to[i] = (u8)byte; });
}

// Returns the item of a row. Surplus threads of the last block recompute the first item without storing.
RF_FN u64 item_of(const Row<Rq>& row, u64 first) { return row.live ? row.index : first; }

// Returns the minimum of `number` over all threads of the row. `scratch` must have one word per warp of the row.
// All threads of the `row` must call it.
RF_FN u32 least_in_row(const Row<Rq>& row, u32 number, u32* scratch) {
    RF_UNROLL
    for (u32 step = 1; step < 32; step *= 2) number = min_word(number, __shfl_xor_sync(0xffffffff, number, step));
    scratch[row.thread / 32] = number;
    sync_row<Rq>();
    RF_UNROLL
    for (u32 warp = 0; warp < Rq::threads / 32; warp++) number = min_word(number, scratch[warp]);
    return number;
}

// Eight numbers of Set::q2_bits bits, packed: `low` has the first eight bytes, `high` the others.
struct Unit {
    static constexpr u32 width = Set::q2_bits, bytes = width;
    u64 low, high;

    RF_METHOD u64 byte(u32 i) const { return (i < 8 ? low >> 8 * i : high >> 8 * (i - 8)) & 0xff; }
    // Packs eight values < 2^width.
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
