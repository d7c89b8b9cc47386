// Multiplies arbitrary polynomials by small ones, modulo q and x^n - x - 1. For tests of the product of encryption.
#include "prelude.cuh"

#include "ctru_prime_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile, resident)
    ctru_prime_multiply(const u16* large, const short* small, u16* out, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 at = item_of(row, first) * Set::n;
    Product product(row, table);
    product.take(product.large, [&](u32 c) { return centre(large[at + c]); });
    product.take(product.small, [&](u32 c) -> i32 { return small[at + c]; });
    product.multiply();
    const u32* cells = product.fold(reduce_integer);
    if (!row.live) return;
    for (u32 c = row.thread; c < Set::n; c += Rq::threads) out[at + c] = (u16)cells[c];
}
