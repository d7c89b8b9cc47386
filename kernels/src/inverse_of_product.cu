// The products of values of two elements back to coefficients, a row at a time; or some of the layers.
//
// Floor: that of inverse.cu, with one more row of memory traffic, and the products.
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile / Rq::cluster, Rq::resident)
    inverse_of_product(const Rq::Store* a, const Rq::Store* b, Rq::Store* out, const Tables<Rq>* tables,
                       const Constants<Rq>* constants, Epilogue epilogue, u64 per_item, u64 a_distance, u64 b_distance,
                       u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end, per_item);
    auto m = Rq::modulus(constants, row.number);
    const auto* table = row.table(tables);  // before the barriers of load_values: its address is read from memory
    const auto* header = constants[row.number].header;
    Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
    load_values<Rq, Rq::natural_order>(x, a + row.values(a_distance), row.thread, row.live, row.shared);
    reduce_inputs<Rq, Rq::per_thread>(m, x);
    // both rows are staged in the same shared memory
    if constexpr (Rq::threads > 1 && Rq::stride == 1 && !(Rq::natural_order && Rq::above > 1)) sync_row<Rq>();
    load_values<Rq, Rq::natural_order>(y, b + row.values(b_distance), row.thread, row.live, row.shared);
    reduce_inputs<Rq, Rq::per_thread>(m, y);
    multiply_values<Rq, 1, 1>(m, x, y, table, row.thread);
    // another kernel may have the last of the layers, and the scale with it; it takes what comes of canonical values
    constexpr bool scales = Rq::pass[0] == 0;
    if constexpr (!scales) {
        RF_UNROLL
        for (u32 r = 0; r < Rq::per_thread; r++)
            x[r] = m.canonical<product_bound<Rq>()>(restore_factor<Rq>(m, x[r], header));
    }
    ntt_inverse<Rq, scales ? product_bound<Rq>() : 1, scales>(m, x, table, header, row.shared, row.thread, row.node);
    store_row<Rq, 0>(x, out + row.offset(out_distance), row.thread, row.live,
                     epilogue.of_row(row.of_basis(), [&](u64 apart) { return row.offset(apart); }));
}
