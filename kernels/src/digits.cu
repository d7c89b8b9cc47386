// Gadget decomposition: each residue stands for a centred integer, which is written in signed digits to the base
// 2^bits. Each digit is stored modulo all moduli of a ring. A thread computes one digit of several adjacent residues of
// a limb.
//
// Roofline bound: memory. A residue of 64 bits takes 8 bytes in, and for each digit and modulus 8 bytes out, a product
// and a remainder.
#include "elementwise.cuh"
#include "prelude.cuh"
using namespace rf;

// take_word: x = word, not reduced. take_residue: x = the residue at `at` in a table.
RF_FN void take_word(u64& x, u64 word) { x = word; }
RF_FN void take_word(u256& x, u64 word) { x = u256{}, x.limb[0] = low(word), x.limb[1] = high(word); }
RF_FN void take_residue(u64& x, const u64* at) { x = at[0]; }
RF_FN void take_residue(u256& x, const u64* at) {
    RF_UNROLL
    for (u32 i = 0; i < 4; i++) x.limb[2 * i] = low(at[i]), x.limb[2 * i + 1] = high(at[i]);
}

// Stored residues are multiplied by a constant R. Table: for each modulus of the input d, reciprocal, shift
// (`Divisor`), 1/R; for each modulus of the digits the modulus, R and -2^63 R. 0 < bits < 64.
extern "C" __global__ void digits(const Digits::From* in, const u64* table, Digits::To* out, u64 units, u64 in_distance,
                                  u64 out_distance, u64 targets, u64 count, u64 bits, u64 first, u64 end) {
    using K = Known<Digits::Q>;
    using Residue = Digits::Q::Residue;
    constexpr u32 lanes = Digits::lanes, each = Digits::n / lanes;
    Units<Digits::threads> at(first, end, (u32)units);
    if (!at.live) return;
    const u32 of_row = (u32)count * each, row = at.unit / of_row, digit = at.unit % of_row / each;
    const u32 start = at.unit % each * lanes;
    const u64* source = table + 4 * row;
    const Divisor q{source[0], source[1], (u32)source[2]};
    const u64 factor = source[3], modulus = q.modulus();
    Residue word[lanes];
    Move<Digits::From, lanes, lanes * sizeof(Digits::From)>::template load<u64>(
        in + at.item * in_distance + (u64)row * Digits::n + start, [&](u32 v, u64 stored) {
            const u64 x = q.mul(stored, factor);
            i64 rest = (i64)(x - select(x > modulus / 2, modulus, 0ull));
            for (u32 i = 0; i < digit; i++) rest = (rest >> bits) + (rest >> (bits - 1) & 1);
            if (digit + 1 < count) rest = (i64)((u64)rest << (64 - bits)) >> (64 - bits);
            take_word(word[v], (u64)rest ^ 1ull << 63);  // digit + 2^63
        });
    const u64* target = table + units / of_row * 4;
    Digits::To* to = out + at.item * out_distance + (u64)(row * (u32)count + digit) * targets * Digits::n + start;
    for (u64 j = 0; j < targets; j++, to += Digits::n) {
        const Digits::Q p = K::modulo(target);
        const auto radix = K::factor(target + K::words);
        Residue offset;
        take_residue(offset, target + K::words + K::factor_words);
        store_run<lanes, lanes * sizeof(Digits::To)>(AsIs{}, to, 0,
                                                     [&](u32 v) { return (Digits::To)p.add(p.mul(word[v], radix), offset); });
        target += K::words + K::factor_words + sizeof(Residue) / 8;
    }
}
