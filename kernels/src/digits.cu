// The integers next to 0 that residues stand for, in signed digits to the base 2^bits, each modulo all moduli of a ring: a
// thread for a residue.
//
// Floor: memory, 8 bytes in, and 8 out for each digit and modulus of 64 bits; a product and a remainder for each of these.
#include "linear.cuh"
#include "prelude.cuh"
using namespace rf;

// out: a word as a residue that is not reduced; a residue of a table
RF_FN void take_word(u64& x, u64 word) { x = word; }
RF_FN void take_word(u256& x, u64 word) { x = u256{}, x.limb[0] = low(word), x.limb[1] = high(word); }
RF_FN void take_residue(u64& x, const u64* at) { x = at[0]; }
RF_FN void take_residue(u256& x, const u64* at) {
    RF_UNROLL
    for (u32 i = 0; i < 4; i++) x.limb[2 * i] = low(at[i]), x.limb[2 * i + 1] = high(at[i]);
}

// The table: for each modulus of the elements d, reciprocal, shift, 1/R; for each of the digits the modulus, R and
// -2^63 R, R the factor of the ring's form. 0 < bits < 64.
extern "C" __global__ void digits(const Digits::From* in, const u64* table, Digits::To* out, u64 units, u64 in_distance,
                                  u64 out_distance, u64 targets, u64 count, u64 bits, u64 first, u64 end) {
    using K = Known<Digits::Q>;
    using Residue = Digits::Q::Residue;
    Units<Digits::threads> at(first, end, (u32)units);
    if (!at.live) return;
    const u32 row = at.unit / Digits::n;
    const u64* source = table + 4 * row;
    const Divisor q{source[0], source[1], (u32)source[2]};
    const u64 x = q.mul(in[at.item * in_distance + at.unit], source[3]), modulus = q.modulus();
    i64 rest = (i64)(x - select(x > modulus / 2, modulus, 0ull));
    const u64* const known = table + units / Digits::n * 4;
    Digits::To* to = out + at.item * out_distance + row * count * targets * Digits::n + at.unit % Digits::n;
    for (u64 i = 0; i < count; i++) {
        const i64 low_bits = (i64)((u64)rest << (64 - bits)) >> (64 - bits), digit = i + 1 < count ? low_bits : rest;
        rest = (rest >> bits) + (rest >> (bits - 1) & 1);
        Residue word;
        take_word(word, (u64)digit ^ 1ull << 63);  // digit + 2^63
        const u64* target = known;
        for (u64 j = 0; j < targets; j++, to += Digits::n) {
            const Digits::Q p = K::modulo(target);
            Residue offset;
            take_residue(offset, target + K::words + K::factor_words);
            *to = (Digits::To)p.add(p.mul(word, K::factor(target + K::words)), offset);
            target += K::words + K::factor_words + sizeof(Residue) / 8;
        }
    }
}
