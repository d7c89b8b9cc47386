// Packs numbers of a few bits into words, least significant bit first, in registers; all shifts are compile-time
// constants.
#pragma once
#include "word.cuh"

namespace rf {

// out: the smallest n among 8, 16 and 32 for which n numbers of `width` bits fill whole 32-bit words
RF_FN constexpr u32 pack_unit(u32 width) { return width * 8 % 32 == 0 ? 8 : width * 16 % 32 == 0 ? 16 : 32; }

// in: values[0..Count] < 2^Width   out: words[0..Count Width / 32]
template <u32 Width, u32 Count>
RF_FN void pack_bits(const u32* values, u32* words) {
    static_assert(Width <= 32 && Count * Width % 32 == 0, "numbers must have at most 32 bits and fill whole words");
    RF_UNROLL
    for (u32 i = 0; i < Count; i++) {
        u32 word = i * Width / 32, shift = i * Width % 32;
        u64 bits = (u64)values[i] << shift;
        words[word] = shift == 0 ? low(bits) : words[word] | low(bits);
        if (shift + Width > 32) words[word + 1] = high(bits);
    }
}

// in: numbers of Width bits, packed in words   out: number i
template <u32 Width>
RF_FN u32 unpack_one(const u32* words, u32 i) {
    u32 word = i * Width / 32, shift = i * Width % 32;
    u32 next = shift + Width > 32 ? words[word + 1] : 0;
    return low(join(words[word], next) >> shift) & (u32)((1ull << Width) - 1);
}

// in: words[0..Count Width / 32]   out: values[0..Count] < 2^Width
template <u32 Width, u32 Count>
RF_FN void unpack_bits(const u32* words, u32* values) {
    static_assert(Width <= 32 && Count * Width % 32 == 0, "numbers must have at most 32 bits and fill whole words");
    RF_UNROLL
    for (u32 i = 0; i < Count; i++) values[i] = unpack_one<Width>(words, i);
}

}  // namespace rf
