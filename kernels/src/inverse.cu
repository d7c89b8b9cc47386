// Values back to coefficients, a row at a time.
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    inverse(const Rq::Store* in, Rq::Store* out, const Rq::M::Twiddle* tables, const Rq::M* moduli, u64 first,
            u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    auto m = Rq::modulus(moduli, row.modulus());
    Rq::M::Word x[Rq::per_thread];
    load_values<Rq, Rq::natural_order>(x, in + row.offset(), row.thread, row.live, row.shared);
    ntt_inverse<Rq, 1, false>(m, x, row.table(tables), row.shared, row.thread);
    store_row<Rq, 0>(x, out + row.offset(), row.thread, row.live);
}
