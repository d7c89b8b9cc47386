// Coins to the products of the f of each group up to each key, and to the polynomials that make public keys of inverses.
#include "prelude.cuh"

#include "ctru_prime_group.cuh"
using namespace rf;

static_assert(Rq::extra >= 2 * half, "a polynomial beside the row");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_gather(const u32* coins, u16* numerators, u16* products, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    auto row = row_of<Set::group>(shared, first, end);
    auto m = Rq::modulus(nullptr, 0);
    Keys keys(row, first, end);
    u16* before = (u16*)row.extra;
    for (u32 c = row.thread; c < Set::n; c += Rq::threads) before[c] = c == 0;
    RF_LOOP
    for (u32 i = 0; i < keys.count; i++) {
        const u32* stream = coins + keys.item(i) * (Set::coins_pitch / 2);
        u16 *numerator = numerators + polynomial_at(keys.item(i)), *product = products + polynomial_at(keys.item(i));
        const bool live = keys.has(i);
        u32 y[Rq::per_thread];
        transform_words(row, m, before, y, table);
        RF_LOOP
        for (u32 turn = 0; turn < 2; turn++) {
            sync_row<Rq>();
            if (turn == 0) sample_row(row, stream + Set::coins_pitch / 4, [&](i32 g, u32) { return lift(m, g); });
            else sample_f(row, m, stream, live);
            multiply_by_cells(row, m, y, table);
            fold(row, [&](u32 c, i32 integer) {
                u16 found = (u16)reduce_integer(integer);
                if (turn == 1) before[c] = found;
                if (live) (turn == 1 ? product : numerator)[c] = found;
            });
        }
    }
}
