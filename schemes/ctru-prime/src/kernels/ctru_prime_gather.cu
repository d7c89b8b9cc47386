// Forward pass of Montgomery's trick (1987) over groups of keys: computes the running products P_(i+1) = f_0 … f_i, and
// the numerators g_i P_i, from which the backward pass gets public keys.
#include "prelude.cuh"

#include "ctru_prime_group.cuh"
using namespace rf;

static_assert(Rq::extra >= 2 * half, "shared memory must hold a polynomial after the row");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_gather(const u32* coins, u16* numerators, u16* products, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    auto row = row_of<Set::group>(shared, first, end);
    Product product(row, table);
    Keys keys(row, first, end);
    u16* before = (u16*)row.extra;
    for (u32 c = row.thread; c < Set::n; c += Rq::threads) before[c] = c == 0;
    RF_LOOP
    for (u32 i = 0; i < keys.count; i++) {
        const u32* stream = coins + keys.item(i) * (Set::coins_pitch / 2);
        u16 *numerator = numerators + polynomial_at(keys.item(i)), *found = products + polynomial_at(keys.item(i));
        const bool live = keys.has(i);
        take_words(row, product, before);
        RF_LOOP
        for (u32 turn = 0; turn < 2; turn++) {
            if (turn == 0) sample_row(row, stream + Set::coins_pitch / 4, [&](i32 g, u32) { return g; });
            else sample_f(row, stream, live);
            const u32* cells = multiply_cells(row, product);
            for (u32 c = row.thread; c < Set::n; c += Rq::threads) {
                if (turn == 1) before[c] = (u16)cells[c];
                if (live) (turn == 1 ? found : numerator)[c] = (u16)cells[c];
            }
            sync_row<Rq>();
        }
    }
}
