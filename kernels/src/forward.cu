// Coefficients to values, a row at a time.
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    forward(const Rq::Store* in, Rq::Store* out, const Rq::M::Twiddle* tables, const Rq::M* moduli, u64 first,
            u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    auto m = Rq::modulus(moduli, row.modulus());
    Rq::M::Word x[Rq::per_thread];
    load_row<Rq, 0>(x, in + row.offset(), row.thread, row.live);
    ntt_forward<Rq>(m, x, row.table(tables), row.shared, row.thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) x[r] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
    store_values<Rq, Rq::natural_order>(x, out + row.offset(), row.thread, row.live, row.shared);
}
