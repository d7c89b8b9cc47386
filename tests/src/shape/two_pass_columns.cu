// The first pass over a matrix of rows x columns: every column is transformed and multiplied by the factors.
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    two_pass_columns(const Rq::Store* in, Rq::Store* out, const Rq::M::Twiddle* table,
                     const Rq::M::Twiddle* factors, u64 first, u64 end) {
    RF_SHARED(shared);
    u32 slot = threadIdx.x / Rq::threads, thread = threadIdx.x % Rq::threads;
    u64 index = first * Task::columns + (u64)blockIdx.x * Rq::tile + slot;
    bool live = index < end * Task::columns;
    u32 column = (u32)(index % Task::columns);
    u64 start = index / Task::columns * (Rq::n * Task::columns) + column;
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread];
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++)
        x[r] = live ? in[start + Pass<Rq, 0>::coeff(thread, r) * Task::columns] : Rq::M::Word{};
    ntt_forward<Rq>(m, x, table, shared + slot * Rq::row_bytes, thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) {
        u32 place = Tree<Rq>::natural_place(Pass<Rq, Rq::passes - 1>::coeff(thread, r)) * Task::columns;
        auto value = m.mul(x[r], factors[place + column]);
        if (live) out[start + place] = m.canonical<Rq::M::product_bound>(value);
    }
}
