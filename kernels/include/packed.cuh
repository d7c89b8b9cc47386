// Vector loads and stores of adjacent residues in memory.
#pragma once
#include "word.cuh"

namespace rf {

// Conversions between elements in memory and words in registers. A residue that is a double in registers is an integer
// in device memory, and a double in cells of shared memory. is_same tells these two cases apart.
template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

// in: an element of memory, < 2^52 if its word is a double   out: its word
template <class W, class E>
RF_FN W word_of(E element) {
    if constexpr (is_same<W, double> && !is_same<E, double>) return to_double(element);
    else return (W)element;
}
// in: a word that fits E, >= 0 if it is a double   out: its element in memory
template <class E, class W>
RF_FN E element_of(W word) {
    if constexpr (is_same<W, double> && !is_same<E, double>) return (E)to_integer(word);
    else return (E)word;
}
// Bit casts of eight-byte elements.
RF_FN u64 bits_of(u64 element) { return element; }
template <class E>
RF_FN E from_bits(u64 bits) {
    if constexpr (is_same<E, double>) return double_of(bits);
    else return bits;
}

// The largest power of two, at most 16, that divides both arguments.
RF_CONST u32 vector_bytes(u32 a, u32 b) {
    u32 bytes = 16;
    while (a % bytes || b % bytes) bytes /= 2;
    return bytes;
}

// Moves `Count` consecutive elements by accesses of `Bytes` bytes. The address `at` must be a multiple of `Bytes`.
template <class E, u32 Count, u32 Bytes>
struct Packed {
    static constexpr u32 each = Bytes / sizeof(E);
    template <class W, class Put>
    RF_FN void load(const E* at, Put put) {
        RF_UNROLL
        for (u32 i = 0; i < Count / each; i++) {
            u32 words[4];
            if constexpr (Bytes == 16) {
                u32x4 v = ((const u32x4*)at)[i];
                words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
            } else if constexpr (Bytes == 8) {
                u32x2 v = ((const u32x2*)at)[i];
                words[0] = v.x, words[1] = v.y;
            } else if constexpr (Bytes == 4) {
                words[0] = ((const u32*)at)[i];
            } else {
                words[0] = ((const u16*)at)[i];
            }
            RF_UNROLL
            for (u32 j = 0; j < each; j++) {
                if constexpr (sizeof(E) == 2) put(i * each + j, (W)(words[j / 2] >> 16 * (j % 2) & 0xffff));
                else if constexpr (sizeof(E) == 4) put(i * each + j, (W)words[j]);
                else put(i * each + j, word_of<W>(from_bits<E>(join(words[2 * j], words[2 * j + 1]))));
            }
        }
    }
    // in: Device: true if `at` is in device memory
    template <bool Device = false, class Get>
    RF_FN void store(E* at, Get get) {
        RF_UNROLL
        for (u32 i = 0; i < Count / each; i++) {
            u32 words[4] = {0, 0, 0, 0};
            RF_UNROLL
            for (u32 j = 0; j < each; j++) {
                if constexpr (sizeof(E) == 2) words[j / 2] |= (u32)get(i * each + j) << 16 * (j % 2);
                else if constexpr (sizeof(E) == 4) words[j] = get(i * each + j);
                else {
                    u64 bits = bits_of(element_of<E>(get(i * each + j)));
                    words[2 * j] = low(bits), words[2 * j + 1] = high(bits);
                }
            }
            if constexpr (Bytes == 16 && Device) store_device(at + i * each, join(words[0], words[1]), join(words[2], words[3]));
            else if constexpr (Bytes == 16) ((u32x4*)at)[i] = u32x4{words[0], words[1], words[2], words[3]};
            else if constexpr (Bytes == 8) ((u32x2*)at)[i] = u32x2{words[0], words[1]};
            else if constexpr (Bytes == 4) ((u32*)at)[i] = words[0];
            else ((u16*)at)[i] = (u16)words[0];
        }
    }
};

// Moves elements of 256 bits; the compiler emits two vector accesses for each.
template <class E, u32 Count>
struct Packed<E, Count, 0> {
    template <class W, class Put>
    RF_FN void load(const E* at, Put put) {
        RF_UNROLL
        for (u32 i = 0; i < Count; i++) put(i, at[i]);
    }
    template <bool Device = false, class Get>
    RF_FN void store(E* at, Get get) {
        RF_UNROLL
        for (u32 i = 0; i < Count; i++) at[i] = get(i);
    }
};

template <class E, u32 Count, u32 Align>
using Move = Packed<E, Count, sizeof(E) <= 8 ? vector_bytes(Count * sizeof(E), Align) : 0>;

// The default epilogue: stores residues unchanged. `Ending` (`epilogue.cuh`) has the same interface and applies fused
// steps.
struct AsIs {
    static constexpr bool plain = true;
    static constexpr u32 operand_bytes = 0;  // per residue, of all operands

    template <u32 Count>
    struct Operands {};

    template <u32 Count, u32 Align>
    RF_FN Operands<Count> load(i64) { return {}; }
    // Stores the Count adjacent residues get(0) to get(Count - 1) from row[at] on. Device: true if `row` is in device
    // memory.
    template <u32 Count, u32 Align, bool Device = false, class E, class Get>
    RF_FN void store(E* row, i64 at, const Operands<Count>&, Get get) {
        Move<E, Count, Align>::template store<Device>(row + at, get);
    }
};

// Stores adjacent residues get(0) to get(Count - 1) in device memory, through an epilogue (`AsIs` or `Ending`).
template <u32 Count, u32 Align, class Ending, class E, class Get>
RF_FN void store_run(const Ending& ending, E* row, i64 at, Get get) {
    ending.template store<Count, Align, true>(row, at, ending.template load<Count, Align>(at), get);
}

// Stores `Runs` runs of Count adjacent residues of a thread through an epilogue. If live(i), run i has the residues
// get(i, 0) to get(i, Count - 1) and goes to row[place(i)]. The operands of several runs, limited by the number of
// registers, are read before these runs are stored, because operands and results may be the same memory.
template <u32 Runs, u32 Count, u32 Align, class Ending, class E, class Place, class Get, class Live>
RF_FN void store_runs(const Ending& ending, E* row, Place place, Get get, Live live) {
    constexpr u32 most = 128 / (Count * (Ending::operand_bytes + 1)), ahead = most < 1 ? 1 : most < Runs ? most : Runs;
    RF_UNROLL
    for (u32 i = 0; i < Runs; i += ahead) {
        typename Ending::template Operands<Count> operands[ahead];
        RF_UNROLL
        for (u32 j = 0; j < ahead; j++)
            if (i + j < Runs && live(i + j)) operands[j] = ending.template load<Count, Align>(place(i + j));
        RF_UNROLL
        for (u32 j = 0; j < ahead; j++)
            if (i + j < Runs && live(i + j))
                ending.template store<Count, Align, sizeof(E) == 8>(row, place(i + j), operands[j],
                                                                    [&](u32 c) { return get(i + j, c); });
    }
}

// The parameter `Epilogue` of a kernel without fused steps.
struct NoEpilogue {
    template <class Offset>
    RF_METHOD AsIs of_row(u32, Offset) const { return {}; }
};

}  // namespace rf
