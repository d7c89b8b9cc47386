// The second pass over a matrix of rows x columns: every row is transformed and becomes a column of the result.
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    two_pass_rows(const Rq::Store* in, Rq::Store* out, const Rq::M::Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u32 number = row.in_item();
    Rq::Store* column = out + (row.index - number) * Rq::n + number;
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread];
    load_row<Rq, 0>(x, in + row.offset(), row.thread, row.live);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) {
        u32 place = Tree<Rq>::natural_place(Pass<Rq, Rq::passes - 1>::coeff(row.thread, r));
        if (row.live) column[(u64)place * Rq::per_item] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
    }
}
