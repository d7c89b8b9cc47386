// Products of the evaluations of two elements and their inverse NTT, fused, with R::threads threads for each tile: a
// limb, or if the kernel computes only some of the layers, a sub-transform of a limb. Schoolbook products modulo the
// leaves (poly.cuh), then Gentleman-Sande butterflies (ntt.cuh).
//
// Roofline bound: that of inverse.cu, plus the products and the memory traffic of one more limb.
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
    const auto* table = row.table(tables);  // read before load_values' barriers, as the address is in memory
    const auto* header = constants[row.number].header;
    // If another kernel does the last layers, that kernel also scales. It expects residues as bounded as those from
    // canonical evaluations, so products are then made canonical and the product factor is restored.
    constexpr bool scales = Rq::pass[0] == 0;
    at_once(row, [&](auto items) {
        Rq::M::Word x[decltype(items)::value * Rq::per_thread], y[Rq::per_thread];
        RF_UNROLL
        for (u32 i = 0; i < items.value; i++) {
            auto at = row.of_item(i, per_item);
            auto* values = x + i * Rq::per_thread;
            unsigned char* stage = row.shared + i * Rq::row_bytes;
            load_values<Rq, Rq::natural_order>(values, a + at.values(a_distance), row.thread, row.live, stage);
            reduce_inputs<Rq, Rq::per_thread>(m, values);
            // both tiles are staged in the same shared memory
            if constexpr (Rq::threads > 1 && Rq::stride == 1 && !(Rq::natural_order && Rq::above > 1)) sync_row<Rq>();
            load_values<Rq, Rq::natural_order>(y, b + at.values(b_distance), row.thread, row.live, stage);
            reduce_inputs<Rq, Rq::per_thread>(m, y);
            multiply_values<Rq, 1, 1>(m, values, y, table, row.thread);
            if constexpr (!scales) {
                RF_UNROLL
                for (u32 r = 0; r < Rq::per_thread; r++)
                    values[r] = m.template canonical<product_bound<Rq>()>(restore_factor<Rq>(m, values[r], header));
            }
        }
        ntt_inverse<Rq, scales ? product_bound<Rq>() : 1, scales, items.value>(m, x, table, header, row.shared, row.thread,
                                                                               row.node);
        RF_UNROLL
        for (u32 i = 0; i < items.value; i++) {
            auto at = row.of_item(i, per_item);
            store_row<Rq, 0>(x + i * Rq::per_thread, out + at.offset(out_distance), row.thread, row.live,
                             epilogue.of_row(row.of_basis(), [&](u64 apart) { return at.offset(apart); }));
        }
    });
}
