// Coins to key pairs: Set::group keys after one another in a row, with one inversion for all of them.
//
// With P_i = f_0 … f_(i-1), I = 1 / P_(i+1) gives 1 / f_i = I P_i, and 1 / P_i = I f_i for the key before. Of the four
// products of a key only I P_i has two large factors: P_i is taken as 2^6 times one small polynomial plus another one.
#include "prelude.cuh"

#include "ctru_prime_inverse.cuh"
#include "ctru_prime_radix.cuh"
using namespace rf;

static_assert(Rq::extra >= 4 * half && 2 * half >= Set::public_key, "two polynomials beside the row, or one and a key");

// How a key's products follow one another.
enum Product { high_limb, low_limb, next_inverse, public_key, products };

// in: x < q, centred   out: the numbers h and l with x = 2^6 h + l, -32 <= l < 32
RF_FN i32 high_limb_of(i32 x) { return x + (1 << (Set::limb_bits - 1)) >> Set::limb_bits; }
RF_FN i32 low_limb_of(i32 x) { return x - (high_limb_of(x) << Set::limb_bits); }

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_generate(const u8* seeds, const u32* coins, u16* products_before, u8* keys, u8* secrets,
                        const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, 0, (end - first + Set::group - 1) / Set::group);
    auto m = Rq::modulus(nullptr, 0);
    const u64 base = first + (row.live ? row.index * Set::group : 0);
    // as many turns for all rows of the block: the first one has most keys
    const u64 left = end - first - (u64)blockIdx.x * (Rq::tile * Set::group);
    const u32 count = left < Set::group ? (u32)left : Set::group;
    u32* cells = cells_of(row);
    u16 *inverse = (u16*)row.extra, *other = inverse + half;
    u32 x[Rq::per_thread], y[Rq::per_thread];

    // a row beyond the end computes along with its first key, and so does one that has fewer keys than others
    auto item_at = [&](u32 i) { return base + i < end ? base + i : base; };
    auto is_live = [&](u32 i) { return row.live && base + i < end; };
    auto stream_at = [&](u32 i) { return coins + item_at(i) * (Set::coins_pitch / 2); };
    auto sample_f = [&](u32 i) {
        bool live = is_live(i);
        sample_row(row, stream_at(i), [&](i32 f, u32 c) { return lift(m, (live ? 2 * f : 0) + (c == 0)); });
    };
    // large times what cells hold, over the integers, in cells
    auto multiply_by_cells = [&](const u16* large) {
        load_factor(y, row.thread, [&](u32 c) { return cells[c]; });
        ntt_forward<Rq>(m, y, table, row.shared, row.thread);
        load_factor(x, row.thread, [&](u32 c) { return lift(m, centre(large[c])); });
        multiply(row, m, x, y, table);
    };

    for (u32 c = row.thread; c < Set::n; c += Rq::threads) inverse[c] = c == 0;
    RF_LOOP
    for (u32 i = 0; i < count; i++) {
        sample_f(i);
        if (is_live(i))
            for (u32 c = row.thread; c < Set::n; c += Rq::threads) products_before[item_at(i) * half + c] = inverse[c];
        multiply_by_cells(inverse);
        fold(row, [&](u32 c, i32 product) { inverse[c] = (u16)reduce_integer(product); });
        sync_row<Rq>();
    }
    invert_row(row, inverse);

    RF_LOOP
    for (u32 i = count; i-- > 0;) {
        u16* before = products_before + item_at(i) * half;
        const bool live = is_live(i);
        RF_LOOP
        for (u32 product = 0; product < products; product++) {
            if (product == next_inverse) {
                sample_f(i);
            } else if (product == public_key) {
                sample_row(row, stream_at(i) + Set::coins_pitch / 4, [&](i32 g, u32) { return lift(m, g); });
            } else {
                for (u32 c = row.thread; c < Set::n; c += Rq::threads) {
                    i32 p = centre(live ? before[c] : c == 0);
                    cells[c] = lift(m, product == high_limb ? high_limb_of(p) : low_limb_of(p));
                }
                sync_row<Rq>();
            }
            multiply_by_cells(product == public_key ? other : inverse);
            fold(row, [&](u32 c, i32 integer) {
                u32 found = reduce_integer(integer);
                if (product == high_limb) other[c] = (u16)found;
                else if (product == low_limb)
                    other[c] = (u16)reduce_integer((i32)(found + ((u32)other[c] << Set::limb_bits)));
                else if (product == next_inverse) inverse[c] = (u16)found;
                else cells[c] = found;
            });
            sync_row<Rq>();
        }
        u8* key = (u8*)other;
        encode_key(cells, key, row.thread);
        // f once more, as it is packed; beyond its end there is padding
        sample_row(row, stream_at(i), [&](i32 f, u32 c) {
            return c < Set::n ? (u32)((i32)Set::key_offset - 2 * f - (c == 0)) : 0;
        });
        if (live) {
            u8* secret = secrets + item_at(i) * Set::secret_key;
            for (u32 k = row.thread; k < Set::pke_key; k += Rq::threads)
                secret[k] = (u8)(cells[2 * k] | (2 * k + 1 < Set::n ? cells[2 * k + 1] << 4 : 0));
            for (u32 k = row.thread; k < Set::public_key; k += Rq::threads)
                keys[item_at(i) * Set::public_key + k] = secret[Set::pke_key + k] = key[k];
            // z, the last 32 bytes of both the seeds and the key
            for (u32 k = row.thread; k < 32; k += Rq::threads)
                secret[Set::secret_key - 32 + k] = seeds[item_at(i) * 64 + 32 + k];
            for (u32 c = row.thread; c < half; c += Rq::threads) before[c] = 0;
        }
        sync_row<Rq>();
    }
}
