// Encryption of CTRU-Prime. Include it after the prelude.
#pragma once
#include "ctru_prime_radix.cuh"
#include "ctru_prime_ring.cuh"
#include "e8.cuh"

namespace rf {

static_assert(Rq::extra >= Set::public_key && Rq::extra >= units * Unit::bytes, "a key, or a ciphertext, beside the row");

// in: sigma < q, a bit of the codeword   out: the coefficient of the ciphertext
RF_FN u32 compress(u32 sigma, u32 bit) {
    u32 rounded = mul_hi((sigma << Set::q2_bits) + (q - 1) / 2, Set::reciprocal) >> (Set::reciprocal_shift - 32);
    return rounded + (bit << (Set::q2_bits - 1)) & ((1u << Set::q2_bits) - 1);
}

// out: the values of a public key, which may be what is prepared of it.   All threads of the row call it, and meet at its end.
RF_FN void load_public_key(const Row<Rq>& row, const Rq::M& m, const u8* key, u32* y, const Twiddle* table) {
    if constexpr (Set::one_key) {
        load_row<Rq, Rq::passes - 1>(y, (const u32*)key, row.thread, true);
    } else {
        transform_key(row, m, key, y, table);
        sync_row<Rq>();
    }
}

// Encrypts a message.   out: the ciphertext in row.extra.   All threads of the row call it, and meet at its end.
RF_FN void encrypt(const Row<Rq>& row, const u8* key, const u8* message, const u32* coins, const Twiddle* table) {
    auto m = Rq::modulus(nullptr, 0);
    u32* cells = cells_of(row);
    u32 x[Rq::per_thread], y[Rq::per_thread];
    load_public_key(row, m, key, y, table);
    sample_row(row, coins, [&](i32 r, u32) { return lift(m, r); });
    load_factor(x, row.thread, [&](u32 c) { return cells[c]; });
    multiply(row, m, x, y, table);
    fold(row, [&](u32 i, i32 sigma) { cells[i] = reduce_integer(sigma); });
    sync_row<Rq>();

    for (u32 unit = row.thread; unit < units; unit += Rq::threads) {
        // the last coefficients carry nothing
        bool carries = unit < 2 * Set::message;
        u32 byte = carries ? message[unit / 2] : 0, values[8];
        u32 code = e8_encode(byte >> unit % 2 * 4 & 15);
        Move<u32, 8, 16>::load<u32>(cells + unit * 8, [&](u32 i, u32 sigma) {
            u32 value = compress(sigma, code >> i & 1);
            values[i] = unit * 8 + i < Set::n ? value : 0;
        });
        Unit packed = Unit::pack(values);
        RF_UNROLL
        for (u32 i = 0; i < Unit::bytes; i++) row.extra[unit * Unit::bytes + i] = (u8)packed.byte(i);
    }
    sync_row<Rq>();
}

}  // namespace rf
