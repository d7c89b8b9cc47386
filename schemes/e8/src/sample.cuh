// Centred binomial sampling: turns random bits into coefficients, several at a time in one word (SWAR).
#pragma once
#include "word.cuh"

namespace rf {

// out: a word in which bits 0, step, 2 step, … are set, `fields` bits in all
RF_FN constexpr u32 every(u32 step, u32 fields) {
    return fields == 0 ? 0 : every(step, fields - 1) << step | 1;
}

// A coefficient is the sum of Eta random bits minus the sum of the next Eta bits. Each iteration reads a 32-bit
// window, which starts at the first unused bit of the stream, and computes all coefficients that lie wholly in it.
// Bits are added within groups of Eta, and adjacent groups are subtracted within fields of 2 Eta bits.
// in: stream[0..Count Eta / 16], random words   out: out[0..Count] in [-Eta, Eta]
template <u32 Eta, u32 Count>
RF_FN void centred_binomial(const u32* stream, i32* out) {
    static_assert(Eta >= 2 && Eta <= 8 && Count * Eta % 16 == 0, "Eta must be 2 to 8, and Count must fill whole words");
    constexpr u32 field = 2 * Eta, fields = 32 / field;
    constexpr u32 ones = every(Eta, 2 * fields), firsts = every(field, fields) * ((1u << Eta) - 1);
    constexpr u32 signs = every(field, fields) << (field - 1);
    RF_UNROLL
    for (u32 at = 0; at < Count; at += fields) {
        u32 word = at * field / 32, shift = at * field % 32;
        u32 next = word + 1 < Count * field / 32 ? stream[word + 1] : 0;
        u32 bits = low(join(stream[word], next) >> shift);
        u32 sums = bits & ones;
        RF_UNROLL
        for (u32 k = 1; k < Eta; k++) sums += bits >> k & ones;
        // The sign bits keep borrows within their fields; each field becomes a two's complement number.
        u32 differences = (((sums & firsts) | signs) - (sums >> Eta & firsts)) ^ signs;
        RF_UNROLL
        for (u32 i = 0; i < fields && at + i < Count; i++)
            out[at + i] = (i32)(differences << (32 - field * (i + 1))) >> (32 - field);
    }
}

}  // namespace rf
