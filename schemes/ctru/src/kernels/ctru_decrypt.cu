// Decrypts ciphertexts c with secret keys f: computes c f over the integers by an NTT, reduces it modulo q2, and
// decodes E8 codewords. The NTT's prime exceeds twice the absolute value of any coefficient of c f.
//
// Cost per item for CTRU-768: 3592 instructions in each of 32 threads, and 1.4 KB of memory traffic.
#include "e8.cuh"
#include "ntt.cuh"
#include "poly.cuh"
#include "prelude.cuh"

#include "ctru_rows.cuh"
using namespace rf;

static_assert(Rq::whole_warps && Rq::row_bytes >= 3 * Rq::n,
              "a row must lie in one warp, and its shared memory must hold cells and nibbles");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_decrypt(const u32* secrets, const u32* ciphertexts, u8* messages, u32* status, const Rq::M::Twiddle* table,
                 u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 item = item_of(row, first);
    auto m = Rq::modulus(nullptr, 0);
    constexpr u32 width = Set::secret_width, q2 = 1u << Set::q2_bits;
    u32* cells = (u32*)row.shared;
    u32 x[Rq::per_thread], y[Rq::per_thread];

    const u32* secret = secrets + item * (Set::secret_key / 4);
    u32 most = 0;
    constexpr u32 secret_unit = pack_unit(width);
    for (u32 unit = row.thread; unit < Rq::n / secret_unit; unit += Rq::threads) {
        u32 words[secret_unit * width / 32], values[secret_unit];
        RF_UNROLL
        for (u32 i = 0; i < secret_unit * width / 32; i++) words[i] = secret[unit * (secret_unit * width / 32) + i];
        unpack_bits<width, secret_unit>(words, values);
        RF_UNROLL
        for (u32 i = 0; i < secret_unit; i++) {
            most |= 4 * Set::eta + 1 - values[i];
            i32 f = (i32)(2 * Set::eta + 1) - (i32)values[i];
            values[i] = (u32)(f + (i32)(m.q & (u32)(f >> 31)));
        }
        Move<u32, secret_unit, 16>::store(cells + unit * secret_unit, [&](u32 i) { return values[i]; });
    }
    sync_row<Rq>();
    load_row<Rq, 0>(y, cells, row.thread, true);
    u32 beyond = first_beyond<width, 4 * Set::eta + 2>(secret, row.thread, most >> 31 != 0);
    ntt_forward<Rq>(m, y, table, row.shared, row.thread);
    sync_row<Rq>();

    const u32* ciphertext = ciphertexts + item * (Set::ciphertext / 4);
    constexpr u32 unit_c = pack_unit(Set::q2_bits);
    for (u32 unit = row.thread; unit < Rq::n / unit_c; unit += Rq::threads) {
        u32 words[unit_c * Set::q2_bits / 32], values[unit_c];
        RF_UNROLL
        for (u32 i = 0; i < unit_c * Set::q2_bits / 32; i++)
            words[i] = ciphertext[unit * (unit_c * Set::q2_bits / 32) + i];
        unpack_bits<Set::q2_bits, unit_c>(words, values);
        // c is centred to [-q2/2, q2/2), so that c f is exact for every key whose coefficients are in range
        Move<u32, unit_c, 16>::store(cells + unit * unit_c, [&](u32 i) {
            return values[i] + (m.q - q2 & 0u - (values[i] >> (Set::q2_bits - 1)));
        });
    }
    sync_row<Rq>();
    load_row<Rq, 0>(x, cells, row.thread, true);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    constexpr u32 bound = ntt_forward_bound<Rq>();
    multiply_values<Rq, bound, bound>(m, x, y, table, row.thread);
    ntt_inverse<Rq, product_bound<Rq>(), true>(m, x, table, row.shared, row.thread);

    // reduces the coefficients of c f to [0, q2) and stores them as 16-bit numbers
    sync_row<Rq>();
    u16* small = (u16*)row.shared;
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) {
        u32 negative = m.q / 2 - x[r] >> 31;
        x[r] = x[r] - (m.q & 0u - negative) & (q2 - 1);
    }
    using First = Pass<Rq, 0>;
    RF_UNROLL
    for (u32 i = 0; i < First::runs; i++)
        Move<u16, First::run, 2 * Rq::n>::store(small + First::run_start(row.thread, i),
                                                [&](u32 c) { return x[First::reg(i, c)]; });
    sync_row<Rq>();
    u8* nibbles = row.shared + 2 * Rq::n;
    for (u32 block = row.thread; block < Rq::n / 8; block += Rq::threads) {
        u32 v[8];
        Move<u16, 8, 16>::load<u32>(small + block * 8, [&](u32 i, u32 value) { v[i] = value; });
        nibbles[block] = (u8)e8_decode<q2>(v);
    }
    sync_row<Rq>();
    if (!row.live) return;
    for (u32 i = row.thread; i < Set::message; i += Rq::threads)
        messages[item * Set::message + i] = (u8)(nibbles[2 * i] | nibbles[2 * i + 1] << 4);
    if (row.thread == 0) status[item] = Status::at(Status::invalid_secret_key, beyond, Rq::n, Status::pending);
}
