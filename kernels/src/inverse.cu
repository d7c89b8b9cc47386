// Inverse NTT, from evaluations to coefficients, with R::threads threads for each tile: a limb, or if the kernel
// computes only some of the layers, a sub-transform of a limb. Gentleman-Sande butterflies with lazy reduction
// (ntt.cuh). Inputs are residues, or any words if R::any_word; outputs are canonical. Kernels of only some of the
// layers may leave residues lazy for the next one (Bound::kept).
//
// Roofline bound: that of forward.cu; the scale costs another half product for each coefficient. Measured rates:
// docs/performance.md.
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile / Rq::cluster, Rq::resident)
    inverse(const Rq::Store* in, Rq::Store* out, const Tables<Rq>* tables, const Constants<Rq>* constants,
            Epilogue epilogue, u64 per_item, u64 in_distance, u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end, per_item);
    auto m = Rq::modulus(constants, row.number);
    const auto* table = row.table(tables);  // read before load_values' barriers, as the address is in memory
    const auto* header = constants[row.number].header;
    at_once(row, [&](auto items) {
        constexpr u32 count = decltype(items)::value * Rq::per_thread;
        Rq::M::Word x[count];
        RF_UNROLL
        for (u32 i = 0; i < items.value; i++) {
            load_values<Rq, Rq::natural_order>(x + i * Rq::per_thread, in + row.of_item(i, per_item).values(in_distance),
                                               row.thread, row.live, row.shared + i * Rq::row_bytes, row.width());
        }
        if constexpr (Rq::pass[Rq::passes] == Rq::layers) reduce_inputs<Rq, count>(m, x);
        ntt_inverse<Rq, 1, false, items.value>(m, x, table, header, row.shared, row.thread, row.node);
        RF_UNROLL
        for (u32 i = 0; i < items.value; i++) {
            auto at = row.of_item(i, per_item);
            store_row<Rq, 0>(x + i * Rq::per_thread, out + at.offset(out_distance), row.thread, row.live,
                             epilogue.of_row(row.of_basis(), [&](u64 apart) { return at.offset(apart); }), row.width());
        }
    });
}
