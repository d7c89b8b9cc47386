// The product of two ring elements from coefficients to coefficients, all in registers and shared memory.
//
// Floor for a row: 3 n residues of memory traffic, and the products of three transforms (forward.cu) and of the leaves. On
// an H200, measured 2026-11-21: x^768 - x^384 + 1 over 3457 221 M/s of 339 (multiplier); n = 256 over 3329 1.03 G/s of
// 1.25; n = 1024 over 30 bits 157 M/s of 246; 60-bit n = 4096 7.3 M/s of 13.9.
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
