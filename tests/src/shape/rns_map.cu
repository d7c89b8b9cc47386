// Transforms of polynomials whose moduli an index map names: polynomial p of an item is modulo moduli[map[p]].
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    rns_map(const Rq::Store* in, Rq::Store* out, const u32* map, const Rq::M::Twiddle* tables, const Rq::M* moduli,
            u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u32 modulus = map[row.in_item()];
    auto m = Rq::modulus(moduli, modulus);
    auto table = tables + modulus * Tree<Rq>::table();
    Rq::M::Word x[Rq::per_thread];
    load_row<Rq, 0>(x, in + row.offset(), row.thread, row.live);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) x[r] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
    store_values<Rq, false>(x, out + row.offset(), row.thread, row.live, row.shared);
}
