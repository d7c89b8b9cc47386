// The first pass over a matrix of rows x columns: every column is transformed and multiplied by the factors.
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    two_pass_columns(const Rq::Store* in, Rq::Store* out, const Rq::M::Twiddle* table,
                     const Rq::M::Twiddle* factors, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    constexpr u32 columns = Rq::per_item;
    u32 column = row.in_item();
    u64 start = (row.index - column) * Rq::n + column;
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread];
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++)
        x[r] = row.live ? in[start + Pass<Rq, 0>::coeff(row.thread, r) * columns] : Rq::M::Word{};
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) {
        u32 place = Tree<Rq>::natural_place(Pass<Rq, Rq::passes - 1>::coeff(row.thread, r)) * columns;
        auto value = m.mul(x[r], factors[place + column]);
        if (row.live) out[start + place] = m.canonical<Rq::M::product_bound>(value);
    }
}
