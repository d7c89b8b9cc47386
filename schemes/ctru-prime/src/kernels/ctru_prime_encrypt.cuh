// Encryption of CTRU-Prime: c = round(q2 / q * h r) + q2 / 2 * codeword mod q2, for the public key h and a sampled
// polynomial r. Include this header after the generated header prelude.cuh.
#pragma once
#include "ctru_prime_radix.cuh"
#include "ctru_prime_ring.cuh"
#include "e8.cuh"

namespace rf {

static_assert(Rq::extra >= Set::public_key && Rq::extra >= units * Unit::bytes,
              "shared memory must hold a public key or a ciphertext after the row");

// Rounds a coefficient sigma < q of the product h r from modulo q to modulo q2. Adds q2/2 if the codeword bit is 1.
RF_FN u32 compress(u32 sigma, u32 bit) {
    u32 rounded = mul_hi((sigma << Set::q2_bits) + (q - 1) / 2, Set::reciprocal) >> (Set::reciprocal_shift - 32);
    return rounded + (bit << (Set::q2_bits - 1)) & ((1u << Set::q2_bits) - 1);
}

// Encrypts a message and writes the ciphertext to row.extra. `key` is an encoded public key or, if Set::one_key, h as
// an operand of a product.
// All threads of the `row` must call it. It ends with a barrier.
RF_FN void encrypt(const Row<Rq>& row, const u8* key, const u8* message, const u32* coins, const Twiddle* table) {
    Product product(row, table);
    if constexpr (Set::one_key) {
        product.take_prepared(product.large, key);
    } else {
        load_key(row, key);
        product.take(product.large, [&](u32 c) { return centre(cells_of(row)[c]); });
        sync_row<Rq>();
    }
    sample_row(row, coins, [&](i32 r, u32) { return r; });
    product.take(product.small, [&](u32 c) { return (i32)cells_of(row)[c]; });
    product.multiply();
    const u32* cells = product.fold(reduce_integer);
    sync_row<Rq>();

    for (u32 unit = row.thread; unit < units; unit += Rq::threads) {
        // coefficients after the last codeword carry no message
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
