// Products modulo q and x^n - x - 1 of any polynomials by small ones: what encryption does, alone.
#include "prelude.cuh"

#include "ctru_prime_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_multiply(const u16* large, const short* small, u16* out, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 at = item_of(row, first) * Set::n;
    auto m = Rq::modulus(nullptr, 0);
    u32 x[Rq::per_thread], y[Rq::per_thread];
    load_factor(y, row.thread, [&](u32 c) { return lift(m, centre(large[at + c])); });
    ntt_forward<Rq>(m, y, table, row.shared, row.thread);
    load_factor(x, row.thread, [&](u32 c) { return lift(m, small[at + c]); });
    multiply(row, m, x, y, table);
    if (row.live) fold(row, [&](u32 i, i32 product) { out[at + i] = (u16)reduce_integer(product); });
}
