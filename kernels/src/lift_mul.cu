// Product of one limb of two ring elements via a larger NTT (zero-padded, multi-modular, CRT), fused in registers and
// shared memory. Each prime is handled as in ring_mul.cu. The product's residues stay in shared memory until those of
// all primes are computed.
//
// Roofline bound for a limb of n coefficients: 3 n residues of memory traffic, and for each prime the products of three
// transforms of the auxiliary length. One operand is parked in shared memory: the saved registers allow more resident
// warps, where launch bounds alone would cause spills.
#include "lift.cuh"
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

// out: the operand's coefficients modulo prime j, in registers in the layout of pass 0; registers beyond the L::n
//     coefficients of every thread are zero at compile time
template <class R, class L>
RF_FN void load_lifted(typename L::Word* x, const typename L::Store* row, u32 j, u32 thread, bool live) {
    using S = Pass<R, 0>;
    RF_UNROLL
    for (u32 r = 0; r < R::per_thread; r++) {
        x[r] = 0;
        if (S::coeff(0, r) >= L::n) continue;
        u32 c = S::coeff(thread, r);
        if (live && c < L::n) x[r] = lifted<L>(input_of<L>((typename L::Residue)row[c]), j);
    }
}

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    lift_mul(const Lift::Store* a, const Lift::Store* b, Lift::Store* out, const Tables<Rq>* tables,
             const Constants<Rq>* constants, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    u64 at = (row.item * Lift::rows + Lift::row) * Lift::n;
    auto residues = (Lift::Word*)row.extra;
    RF_LOOP
    for (u32 j = 0; j < Lift::primes; j++) {
        auto m = Rq::modulus(constants, j);
        auto table = TablesOf<Rq>::of(tables, j);
        Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
        load_lifted<Rq, Lift>(x, a + at, j, row.thread, row.live);
        ntt_forward<Rq>(m, x, table, row.shared, row.thread);
        // parked where the product's residues will be stored, so that registers hold one polynomial at a time
        auto parked = residues + j * Lift::length + row.thread;
        RF_UNROLL
        for (u32 r = 0; r < Rq::per_thread; r++) parked[r * Rq::threads] = x[r];
        load_lifted<Rq, Lift>(x, b + at, j, row.thread, row.live);
        ntt_forward<Rq>(m, x, table, row.shared, row.thread);
        RF_UNROLL
        for (u32 r = 0; r < Rq::per_thread; r++) y[r] = parked[r * Rq::threads];
        constexpr u32 bound = ntt_forward_bound<Rq>();
        multiply_values<Rq, bound, bound>(m, x, y, table, row.thread);
        ntt_inverse<Rq, product_bound<Rq>(), true>(m, x, table, constants[j].header, row.shared, row.thread);
        RF_UNROLL
        for (u32 r = 0; r < Rq::per_thread; r++) {
            u32 c = Pass<Rq, 0>::coeff(row.thread, r);
            if (c < Lift::n + Lift::high) residues[j * Lift::length + c] = x[r];
        }
    }
    sync_row<Rq>();
    Lift::Store* to = out + row.item * ((u64)Lift::rows * Lift::n);
    for (u32 i = row.thread; row.live && i < Lift::n; i += Rq::threads)
        store_coefficient<Lift>(to, i, (Lift::Store)folded<Lift>(residues, i));
}
