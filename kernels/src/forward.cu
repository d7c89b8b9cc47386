// Coefficients to values, a row at a time; or some of the layers.
//
// Floor for a row: 2 n residues of memory traffic, and one known-factor product for each butterfly of radix 2, three for
// radix 3: 4 multiplier slots each in 32 bits, 15 in 64, in 256 186 with quotients (Mod255) and 272 without. (Goldilocks: for
// 16 residues and four layers 15 products, of 8 slots.) On an H200 (4.26 TB/s, 16.4 T slots/s), measured 2026-11-21: n = 256
// over 3329 3.11 G/s of 4.16 (memory); n = 1024 over 30 bits 452 M/s of 520 (memory); n = 4096 over 60 bits 24.9 M/s of 44.5
// (multiplier); n = 2^20 over BLS12-381's r, four kernels, 172 us against 107, n = 2^26 12.7 ms against 9.1 (multiplier).
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
    // (one text for both takes more registers where there are no turns: on sm_80 a fused transform spills 12 bytes in place of 4)
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
