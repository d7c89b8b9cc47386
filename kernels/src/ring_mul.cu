// Product of two ring elements, coefficients to coefficients, fused in registers and shared memory: two forward NTTs
// (Cooley-Tukey), products modulo the leaves, one inverse NTT (Gentleman-Sande).
//
// Roofline bound for a limb of n coefficients: 3 n residues of memory traffic, and the products of three transforms
// (forward.cu) and of the leaves. Measured rates: docs/performance.md.
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ring_mul(const Rq::Store* a, const Rq::Store* b, Rq::Store* out, const Tables<Rq>* tables,
             const Constants<Rq>* constants, Epilogue epilogue, u64 per_item, u64 a_distance, u64 b_distance,
             u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end, per_item);
    auto m = Rq::modulus(constants, row.number);
    auto table = row.table(tables);
    Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
    load_row<Rq, 0>(x, a + row.offset(a_distance), row.thread, row.live);
    reduce_inputs<Rq, Rq::per_thread>(m, x);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    load_row<Rq, 0>(y, b + row.offset(b_distance), row.thread, row.live);
    reduce_inputs<Rq, Rq::per_thread>(m, y);
    ntt_forward<Rq>(m, y, table, row.shared, row.thread);
    constexpr u32 bound = ntt_forward_bound<Rq>();
    multiply_values<Rq, bound, bound>(m, x, y, table, row.thread);
    ntt_inverse<Rq, product_bound<Rq>(), true>(m, x, table, constants[row.number].header, row.shared, row.thread);
    store_row<Rq, 0>(x, out + row.offset(out_distance), row.thread, row.live,
                     epilogue.of_row(row.of_basis(), [&](u64 apart) { return row.offset(apart); }));
}
