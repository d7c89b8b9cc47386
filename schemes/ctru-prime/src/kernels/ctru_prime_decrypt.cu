// Decrypts ciphertexts c with secret keys f: computes c f over the integers, reduces it modulo q2, and decodes E8
// codewords. Also copies the hash input of rejection keys, identity || z || ciphertext, to word-aligned memory.
#include "prelude.cuh"

#include "ctru_prime_secret.cuh"
#include "e8.cuh"
using namespace rf;

static_assert(Rq::extra >= 2 * Set::message, "shared memory must hold the nibbles of a message after the row");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile, resident)
    ctru_prime_decrypt(const u8* secrets, const u8* ciphertexts, u8* messages, u8* rejections, u32* status,
                       const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    Product product(row, table);

    const u8* prepared = secrets + item * Set::secret_pitch;
    const u8* secret = prepared + Set::small_bytes;
    u32 bad = Set::n + 1;
    if constexpr (Set::one_key) {
        product.take_prepared(product.small, prepared);
    } else {
        bad = load_secret(row, secret);
        product.take(product.small, [&](u32 c) { return (i32)cells_of(row)[c]; });
        sync_row<Rq>();
    }

    const u8* ciphertext = ciphertexts + item * Set::ciphertext;
    RF_UNROLL
    for (u32 k = 0; k < (units + Rq::threads - 1) / Rq::threads; k++) {
        u32 unit = row.thread + k * Rq::threads;
        if (unit >= units) continue;
        Unit packed{0, 0};
        u32 values[8];
        RF_UNROLL
        for (u32 i = 0; i < Unit::bytes; i++) {
            u32 at = unit * Unit::bytes + i;
            u64 byte = at < Set::ciphertext ? ciphertext[at] : 0;
            if (i < 8) packed.low |= byte << 8 * i;
            else packed.high |= byte << 8 * (i - 8);
        }
        packed.unpack(values);
        // c is centred to [-q2/2, q2/2), so that c f is exact for every key
        Move<u32, 8, 16>::store(cells_of(row) + unit * 8,
                                [&](u32 i) { return values[i] - ((values[i] >> (Unit::width - 1)) << Unit::width); });
    }
    sync_row<Rq>();
    product.take(product.large, [&](u32 c) { return (i32)cells_of(row)[c]; });
    product.multiply();
    u32* cells = product.fold([&](i32 v) { return (u32)v & ((1u << Set::q2_bits) - 1); });
    sync_row<Rq>();
    for (u32 block = row.thread; block < 2 * Set::message; block += Rq::threads) {
        u32 v[8];
        Move<u32, 8, 16>::load<u32>(cells + block * 8, [&](u32 i, u32 value) { v[i] = value; });
        row.extra[block] = (u8)e8_decode<1u << Set::q2_bits>(v);
    }
    bad = least_in_row(row, bad, cells + half);
    if (!row.live) return;

    const u8* nibbles = row.extra;
    u8* message = messages + item * Set::message_pitch;
    for (u32 i = row.thread; i < Set::message_pitch; i += Rq::threads)
        message[i] = i < Set::message ? (u8)(nibbles[2 * i] | nibbles[2 * i + 1] << 4) : 0;
    u8* rejection = rejections + item * Set::rejection_pitch;
    const u8 *id = secret + Set::pke_key, *z = secret + Set::secret_key - 32;
    for (u32 i = row.thread; i < 65; i += Rq::threads) rejection[i] = i < 33 ? id[i] : z[i - 33];
    move_bytes<Set::rejection_pitch - 65>(
        row.thread, [&](u32 i) -> u32 { return i < Set::ciphertext ? ciphertext[i] : 0; },
        [&](u32 i, u32 byte) { rejection[65 + i] = (u8)byte; });
    if (row.thread == 0) status[item] = status_of(bad, Status::pending);
}
