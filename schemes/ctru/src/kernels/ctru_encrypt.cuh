// Encryption of CTRU and CNTR (eprint 2022/579). Include it after the generated header prelude.cuh.
#pragma once
#include "ctru_ring.cuh"
#include "e8.cuh"

namespace rf {

static_assert(Rq::layers == wire_layers, "the ring must have the NTT layers of public keys");

// Unpacks the evaluations of a public key into 16-bit cells of shared memory. Returns true if this thread unpacked an
// evaluation that is not below q. All threads that share the polynomial must call it; it ends with a barrier.
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

// Returns floor(t / q), for t < 2^25.
RF_FN u32 divide(u32 t) { return mul_hi(t, 2544429570u) >> 11; }

// Rounds a coefficient sigma < 3q from modulo q to modulo q2. If the codeword bit is 1, adds (q + 1)/2 before rounding
// (CTRU) or q2/2 after rounding (CNTR).
RF_FN u32 compress(u32 sigma, u32 bit) {
    u32 rounded = Set::noise ? divide(((sigma + bit * (q + 1) / 2) << Set::q2_bits) + (q - 1) / 2)
                             : divide((sigma << Set::q2_bits) + (q - 1) / 2) + (bit << (Set::q2_bits - 1));
    return rounded & ((1u << Set::q2_bits) - 1);
}

// Encrypts a message with given coins, the pseudorandom bytes from which polynomials are sampled. Passes each 32-bit
// word of the ciphertext to put(index, word), in any order. Returns the item's status: `ok`, or an error if a
// coefficient of the key is not below q.
template <class Put>
RF_FN u32 encrypt(const Row<Rq>& row, const u32* key, const u8* message, const u32* coins, const Twiddle* table,
                   Put put) {
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
    // public keys store evaluations times 2^16; sampling the polynomial r times 2^-16 cancels this factor at no cost
    sample_row<from_montgomery, 0>(row, coins);
    load_row<Rq, 0>(x, cells_of(row), row.thread, true);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    sync_row<Rq>();
    bool beyond = unpack_key(row, key);
    load_row<Rq, Rq::passes - 1>(y, cells_of(row), row.thread, true);
    multiply_values<Rq, ntt_forward_bound<Rq>(), 1>(m, x, y, table, row.thread);
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
    return Status::at(Status::invalid_public_key, first_beyond<12, q>(key, row.thread, beyond), Rq::n);
}

}  // namespace rf
