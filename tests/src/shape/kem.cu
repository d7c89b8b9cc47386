// One kernel for a KEM-like job: hash a seed, sample a small polynomial, multiply it by a key that all items share, pack.
#include "keccak.cuh"
#include "ntt.cuh"
#include "poly.cuh"
#include "prelude.cuh"
using namespace rf;

// In the shared memory of a row's own: first the stream, then coefficients of 16 bits.
static_assert(Rq::extra >= 2 * Rq::n);
constexpr u32 stream_words = Rq::n / 16;  // four bits a coefficient

RF_FN void draw_stream(const u64* seed, u64* stream) {
    Shake256 shake;
    shake.absorb<32>([&](u32 i) { return seed[i]; });
    shake.squeeze<stream_words>([&](u32 i, u64 word) { stream[i] = word; });
}

// out: the sum of two bits less the sum of the next two, mod q
RF_FN u32 centred_binomial(const u8* stream, u32 coeff) {
    u32 bits = stream[coeff / 2] >> 4 * (coeff % 2);
    u32 plus = (bits & 1) + (bits >> 1 & 1), minus = (bits >> 2 & 1) + (bits >> 3 & 1);
    return select((u32)(plus < minus), Task::q + plus - minus, plus - minus);
}

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    kem(const u64* seeds, const Rq::Store* key, u8* out, const Rq::M::Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    auto m = Rq::modulus(nullptr, 0);

    if (row.live && row.thread == 0) draw_stream(seeds + row.index * 4, (u64*)row.extra);
    sync_row<Rq>();
    Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) x[r] = centred_binomial(row.extra, Pass<Rq, 0>::coeff(row.thread, r));

    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    sync_row<Rq>();
    load_values<Rq, false>(y, key, row.thread, row.live, row.shared);
    multiply_values<Rq, ntt_forward_bound<Rq>(), 1>(m, x, y, table, row.thread);
    ntt_inverse<Rq, product_bound<Rq>(), true>(m, x, table, row.shared, row.thread);

    sync_row<Rq>();
    u16* cells = (u16*)row.extra;
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) cells[Pass<Rq, 0>::coeff(row.thread, r)] = (u16)x[r];
    sync_row<Rq>();
    if (!row.live) return;
    u8* bytes = out + row.index * (Rq::n * 3 / 2);
    for (u32 pair = row.thread; pair < Rq::n / 2; pair += Rq::threads) {
        u32 both = cells[2 * pair] | (u32)cells[2 * pair + 1] << 12;
        bytes[3 * pair] = (u8)both;
        bytes[3 * pair + 1] = (u8)(both >> 8);
        bytes[3 * pair + 2] = (u8)(both >> 16);
    }
}
