// Key generation and encryption of CTRU and CNTR on rows of Z_3457[x]/(x^n - x^(n/2) + 1), for kernels whose prelude
// names that ring Rq and the parameter set Set. Include it after the prelude.
//
// Coefficients pass between layouts through the row's shared memory, as 16-bit cells in their own order: there a thread
// takes units of neighbouring coefficients, as many as fill whole words of a stream or of a packing.
#pragma once
#include "ctru_rows.cuh"
#include "e8.cuh"
#include "ntt.cuh"
#include "poly.cuh"
#include "sample.cuh"

namespace rf {

using Twiddle = Rq::M::Twiddle;
static_assert(Rq::whole_warps && Rq::row_bytes >= 2 * Rq::n, "a row lies in a warp, and its cells in its shared memory");
constexpr u32 q = 3457;
// Layers of the transform whose values a public key holds, all times 2^16 (in Montgomery's form of the reference).
constexpr u32 wire_layers = 7;
constexpr i32 montgomery = 3310 - (i32)q, from_montgomery = 2775 - (i32)q;  // 2^16 and 2^-16

RF_FN u16* cells_of(const Row<Rq>& row) { return (u16*)row.shared; }

// Words of a stream that Count coefficients take.
RF_FN constexpr u32 stream_words(u32 count) { return count * Set::eta / 16; }
constexpr u32 sample_unit = stream_words(8) * 16 == 8 * Set::eta ? 8 : 16;

// out: coefficients Count unit … of a stream, in [-eta, eta]
template <u32 Count>
RF_FN void sample_unit_of(const u32* stream, u32 unit, i32* out) {
    u32 words[stream_words(Count)];
    RF_UNROLL
    for (u32 i = 0; i < stream_words(Count); i++) words[i] = stream[unit * stream_words(Count) + i];
    centred_binomial<Set::eta, Count>(words, out);
}

// in: |x| < q   out: x mod q
RF_FN u32 lift(i32 x) { return (u32)(x + (i32)(q & (u32)(x >> 31))); }

// out: a polynomial of the stream times Scale, plus Constant, mod q, in the row's cells   (Scale eta + Constant < q)
template <i32 Scale, i32 Constant>
RF_FN void sample_row(const Row<Rq>& row, const u32* stream) {
    for (u32 unit = row.thread; unit < Rq::n / sample_unit; unit += Rq::threads) {
        i32 sample[sample_unit];
        sample_unit_of<sample_unit>(stream, unit, sample);
        if (Constant != 0 && unit == 0) sample[0] = sample[0] * Scale + Constant;
        Move<u16, sample_unit, 16>::store(cells_of(row) + unit * sample_unit, [&](u32 i) {
            return lift(Constant != 0 && unit == 0 && i == 0 ? sample[0] : sample[i] * Scale);
        });
    }
    sync_row<Rq>();
}

// A public key's values, from its bytes to cells.   out: whether this thread saw one that is not below q
RF_FN bool unpack_key(const Row<Rq>& row, const u32* key) {
    u32 most = 0;
    for (u32 unit = row.thread; unit < Rq::n / 8; unit += Rq::threads) {
        u32 words[3], values[8];
        RF_UNROLL
        for (u32 i = 0; i < 3; i++) words[i] = key[unit * 3 + i];
        unpack_bits<12, 8>(words, values);
        RF_UNROLL
        for (u32 i = 0; i < 8; i++) most |= q - 1 - values[i];
        Move<u16, 8, 16>::store(cells_of(row) + unit * 8, [&](u32 i) { return values[i]; });
    }
    sync_row<Rq>();
    return most >> 31 != 0;
}

// in: t < 2^25   out: floor(t / q)
RF_FN u32 divide(u32 t) { return mul_hi(t, 2544429570u) >> 11; }

// in: sigma < 3q, a bit of the codeword   out: the coefficient of the ciphertext
RF_FN u32 compress(u32 sigma, u32 bit) {
    u32 rounded = Set::noise ? divide(((sigma + bit * (q + 1) / 2) << Set::q2_bits) + (q - 1) / 2)
                             : divide((sigma << Set::q2_bits) + (q - 1) / 2) + (bit << (Set::q2_bits - 1));
    return rounded & ((1u << Set::q2_bits) - 1);
}

// Encrypts a message; hands the ciphertext to put(index, word), word by word, in any order.
// out: the status of the item, which is not fine if a coefficient of the key is not below q
template <class Put>
RF_FN u32 encrypt(const Row<Rq>& row, const u32* key, const u8* message, const u32* coins, const Twiddle* table,
                   Put put) {
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
    // the key's factor 2^16 leaves here, where it costs nothing
    sample_row<from_montgomery, 0>(row, coins);
    load_row<Rq, 0>(x, cells_of(row), row.thread, true);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    sync_row<Rq>();
    bool beyond = unpack_key(row, key);
    load_row<Rq, Rq::passes - 1>(y, cells_of(row), row.thread, true);
    ntt_descend<Rq, wire_layers>(m, y, table, row.thread);
    multiply_values<Rq, ntt_forward_bound<Rq>(), ntt_descend_bound<Rq, wire_layers>()>(m, x, y, table, row.thread);
    ntt_inverse<Rq, product_bound<Rq>(), true>(m, x, table, row.shared, row.thread);
    sync_row<Rq>();
    store_row<Rq, 0>(x, cells_of(row), row.thread, true);
    sync_row<Rq>();

    constexpr u32 count = pack_unit(Set::q2_bits) < 16 ? 16 : pack_unit(Set::q2_bits);
    for (u32 unit = row.thread; unit < Rq::n / count; unit += Rq::threads) {
        u32 values[count], words[count * Set::q2_bits / 32];
        i32 noise[count];
        Move<u16, count, 16>::load<u32>(cells_of(row) + unit * count, [&](u32 i, u32 v) { values[i] = v; });
        if (Set::noise) sample_unit_of<count>(coins + stream_words(Rq::n), unit, noise);
        RF_UNROLL
        for (u32 i = 0; i < count; i++) {
            u32 byte = message[unit * (count / 16) + i / 16];
            u32 code = e8_encode(byte >> i / 8 % 2 * 4 & 15);
            u32 sigma = Set::noise ? values[i] + q + (u32)noise[i] : values[i];
            values[i] = compress(sigma, code >> i % 8 & 1);
        }
        pack_bits<Set::q2_bits, count>(values, words);
        RF_UNROLL
        for (u32 i = 0; i < count * Set::q2_bits / 32; i++) put(unit * (count * Set::q2_bits / 32) + i, words[i]);
    }
    return status_of(Set::invalid_public_key, first_beyond<12, q>(key, row.thread, beyond));
}

// The key pair that coins give: f and g are their halves.
// out: whether f has an inverse; if not, both keys are zero
RF_FN bool generate(const Row<Rq>& row, const u32* coins, u32* key, u32* secret, const Twiddle* table) {
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
    sample_row<2, 1>(row, coins);
    load_row<Rq, 0>(x, cells_of(row), row.thread, true);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) x[r] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
    bool invertible = !any_in_row<Rq>(!invert_values<Rq>(m, x, table, row.thread));

    // g takes along the key's factor 2^16, less that of the layers between the transform and the key
    sync_row<Rq>();
    sample_row<(Rq::layers > wire_layers ? -49 : montgomery), 0>(row, coins + stream_words(Rq::n));
    load_row<Rq, 0>(y, cells_of(row), row.thread, true);
    ntt_forward<Rq>(m, y, table, row.shared, row.thread);
    multiply_values<Rq, ntt_forward_bound<Rq>(), 1>(m, y, x, table, row.thread);
    ntt_ascend<Rq, wire_layers, product_bound<Rq>()>(m, y, table, row.thread);
    constexpr u32 bound = ntt_ascend_bound<Rq, wire_layers, product_bound<Rq>()>();
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) y[r] = m.canonical<bound>(y[r]);
    sync_row<Rq>();
    store_row<Rq, Rq::passes - 1>(y, cells_of(row), row.thread, true);
    sync_row<Rq>();

    const u32 kept = 0u - (u32)invertible;
    u32* copy = secret + Rq::n * Set::secret_width / 32;
    for (u32 unit = row.thread; unit < Rq::n / 8 && row.live; unit += Rq::threads) {
        u32 values[8], words[3];
        Move<u16, 8, 16>::load<u32>(cells_of(row) + unit * 8, [&](u32 i, u32 v) { values[i] = v; });
        pack_bits<12, 8>(values, words);
        RF_UNROLL
        for (u32 i = 0; i < 3; i++) key[unit * 3 + i] = copy[unit * 3 + i] = words[i] & kept;
    }
    constexpr u32 width = Set::secret_width, count = pack_unit(width) < sample_unit ? sample_unit : pack_unit(width);
    for (u32 unit = row.thread; unit < Rq::n / count && row.live; unit += Rq::threads) {
        i32 sample[count];
        u32 values[count], words[count * width / 32];
        sample_unit_of<count>(coins, unit, sample);
        RF_UNROLL
        for (u32 i = 0; i < count; i++) values[i] = (u32)((i32)(2 * Set::eta + 1) - 2 * sample[i]);
        if (unit == 0) values[0] -= 1;
        pack_bits<width, count>(values, words);
        RF_UNROLL
        for (u32 i = 0; i < count * width / 32; i++) secret[unit * (count * width / 32) + i] = words[i] & kept;
    }
    return invertible;
}

}  // namespace rf
