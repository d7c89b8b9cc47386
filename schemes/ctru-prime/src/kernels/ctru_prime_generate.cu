// Backward pass of Montgomery's trick (1987): computes key pairs from the inverse of each group, from the group's last
// key to its first.
#include "prelude.cuh"

#include "ctru_prime_group.cuh"
#include "ctru_prime_radix.cuh"
using namespace rf;

static_assert(Rq::extra >= 4 * half && 2 * half >= Set::public_key,
              "shared memory must hold two polynomials, or one and a public key, after the row");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_generate(const u8* seeds, const u32* coins, const u16* numerators, const u16* inverses, u8* public_keys,
                        u8* secret_keys, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    auto row = row_of<Set::group>(shared, first, end);
    Product product(row, table);
    Keys keys(row, first, end);
    u32* cells = cells_of(row);
    u16 *inverse = (u16*)row.extra, *scratch = inverse + half;
    for (u32 c = row.thread; c < Set::n; c += Rq::threads) inverse[c] = inverses[polynomial_at(keys.base) + c];
    RF_LOOP
    for (u32 i = keys.count; i-- > 0;) {
        const u64 item = keys.item(i);
        const u32* stream = coins + item * (Set::coins_pitch / 2);
        const u16* numerator = numerators + polynomial_at(item);
        const bool live = keys.has(i);
        take_words(row, product, inverse);
        if (i > 0) {
            sample_f(row, stream, live);
            multiply_cells(row, product);
            for (u32 c = row.thread; c < Set::n; c += Rq::threads) inverse[c] = (u16)cells[c];
        }
        multiply_large(
            row, product, scratch, [&](u32 c) -> u32 { return live ? numerator[c] : 0; },
            [&](u32 c, u32 x) { cells[c] = x; });
        u8* key = (u8*)scratch;
        encode_key(cells, key, row.thread);
        // f as packed: 2 eta + 1 - f, then zeros
        sample_row(row, stream, [&](i32 f, u32 c) {
            return c < Set::n ? (u32)((i32)Set::key_offset - 2 * f - (c == 0)) : 0;
        });
        if (live) {
            u8* secret = secret_keys + item * Set::secret_key;
            for (u32 k = row.thread; k < Set::pke_key; k += Rq::threads)
                secret[k] = (u8)(cells[2 * k] | (2 * k + 1 < Set::n ? cells[2 * k + 1] << 4 : 0));
            for (u32 k = row.thread; k < Set::public_key; k += Rq::threads)
                public_keys[item * Set::public_key + k] = secret[Set::pke_key + k] = key[k];
            // copies z, the last 32 bytes of the item's seeds, to the last 32 bytes of the secret key
            for (u32 k = row.thread; k < 32; k += Rq::threads)
                secret[Set::secret_key - 32 + k] = seeds[item * 64 + 32 + k];
        }
    }
}
