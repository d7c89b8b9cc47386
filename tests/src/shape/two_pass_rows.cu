// The second pass over a matrix of rows x columns: every row is transformed and becomes a column of the result.
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    two_pass_rows(const Rq::Store* in, Rq::Store* out, const Rq::M::Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    u32 slot = threadIdx.x / Rq::threads, thread = threadIdx.x % Rq::threads;
    u64 index = first * Task::rows + (u64)blockIdx.x * Rq::tile + slot;
    bool live = index < end * Task::rows;
    u32 row = (u32)(index % Task::rows);
    u64 start = index / Task::rows * (Rq::n * Task::rows);
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread];
    load_row<Rq, 0>(x, in + start + row * Rq::n, thread, live);
    ntt_forward<Rq>(m, x, table, shared + slot * Rq::row_bytes, thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) {
        u32 place = Tree<Rq>::natural_place(Pass<Rq, Rq::passes - 1>::coeff(thread, r));
        if (live) out[start + row + (u64)place * Task::rows] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
    }
}
