// Forward NTT, from coefficients to evaluations, with R::threads threads for each tile: a limb, or if the kernel
// computes only some of the layers, a sub-transform of a limb. Cooley-Tukey butterflies with lazy reduction (ntt.cuh).
// Inputs are residues, or any words if R::any_word; outputs are canonical. Kernels of only some of the layers may leave
// residues lazy for the next one (Bound::kept).
//
// Roofline bound for a limb of n coefficients: 2 n residues of memory traffic, and one product by a twiddle factor for
// each radix-2 butterfly, three for radix 3. A product takes 4 issue slots of the multiplier in 32 bits and 15 in 64;
// in 256 bits 186 with quotients (Mod255), 264 without. (Goldilocks: 15 products of 8 slots for 16 residues and four
// layers.) Measured rates: docs/performance.md.
#include "ntt.cuh"
#include "turns.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile / Rq::cluster, Rq::resident)
    forward(const Rq::Store* in, Rq::Store* out, const Tables<Rq>* tables, const Constants<Rq>* constants,
            Epilogue epilogue, u64 per_item, u64 in_distance, u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end, per_item);
    auto m = Rq::modulus(constants, row.number);
    const auto* table = row.table(tables);
    // The two branches differ only in double buffering. A common branch would take more registers where double
    // buffering is off.
    if constexpr (next_row<Rq> > 0) {
        in_turn(row, in, in_distance, per_item, shared, [&](const Row<Rq>& at, Rq::M::Word* x) {
            if constexpr (Rq::pass[0] == 0) reduce_inputs<Rq, Rq::per_thread>(m, x);
            ntt_forward<Rq>(m, x, table, at.shared, at.thread, at.node);
            if constexpr (Rq::pass[Rq::passes] == Rq::layers || !Bound<Rq>::kept) {
                RF_UNROLL
                for (u32 r = 0; r < Rq::per_thread; r++) x[r] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
            }
            store_values<Rq, Rq::natural_order, true>(x, out + at.values(out_distance), at.thread, at.live, at.shared,
                                                epilogue.of_row(at.of_basis(), [&](u64 apart) { return at.values(apart); }), at.width());
        });
    } else {
        Rq::M::Word x[Rq::per_thread];
        load_row<Rq, 0>(x, in + row.offset(in_distance), row.thread, row.live, row.width());
        if constexpr (Rq::pass[0] == 0) reduce_inputs<Rq, Rq::per_thread>(m, x);
        ntt_forward<Rq>(m, x, table, row.shared, row.thread, row.node);
        if constexpr (Rq::pass[Rq::passes] == Rq::layers || !Bound<Rq>::kept) {
            RF_UNROLL
            for (u32 r = 0; r < Rq::per_thread; r++) x[r] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
        }
        store_values<Rq, Rq::natural_order, true>(x, out + row.values(out_distance), row.thread, row.live, row.shared,
                                            epilogue.of_row(row.of_basis(), [&](u64 apart) { return row.values(apart); }), row.width());
    }
}
