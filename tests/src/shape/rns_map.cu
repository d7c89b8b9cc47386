// Transforms of polynomials whose moduli an index map names: polynomial p of an item is modulo moduli[map[p]].
#include "ntt.cuh"
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    rns_map(const Rq::Store* in, Rq::Store* out, const u32* map, const Rq::M::Twiddle* tables, const Rq::M* moduli,
            u64 first, u64 end) {
    RF_SHARED(shared);
    u32 slot = threadIdx.x / Rq::threads, thread = threadIdx.x % Rq::threads;
    auto row_shared = shared + slot * Rq::row_bytes;
    u64 index = first * Task::polynomials + (u64)blockIdx.x * Rq::tile + slot;
    bool live = index < end * Task::polynomials;
    u32 modulus = map[index % Task::polynomials];
    auto m = Rq::modulus(moduli, modulus);
    auto table = tables + modulus * Tree<Rq>::table();
    Rq::M::Word x[Rq::per_thread];
    load_row<Rq, 0>(x, in + index * Rq::n, thread, live);
    ntt_forward<Rq>(m, x, table, row_shared, thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) x[r] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
    store_values<Rq, false>(x, out + index * Rq::n, thread, live, row_shared);
}
