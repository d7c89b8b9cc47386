// Key generation of CTRU and CNTR (eprint 2022/579). Include it after the generated header prelude.cuh.
#pragma once
#include "ctru_ring.cuh"

namespace rf {

// Generates a key pair, except the rejection secret z, from coins (pseudorandom bytes): samples f from the first half
// and g from the second. Returns true if f has an inverse. Otherwise both keys are zero.
RF_FN bool generate(const Row<Rq>& row, const u32* coins, u32* key, u32* secret, const Twiddle* table) {
    auto m = Rq::modulus(nullptr, 0);
    Rq::M::Word x[Rq::per_thread], y[Rq::per_thread];
    sample_row<2, 1>(row, coins);
    load_row<Rq, 0>(x, cells_of(row), row.thread, true);
    ntt_forward<Rq>(m, x, table, row.shared, row.thread);
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) x[r] = m.canonical<ntt_forward_bound<Rq>()>(x[r]);
    bool inverted = invert_values<Rq>(m, x, table, row.thread);

    // g is scaled by 2^16, the scale of public keys. If the NTT has an eighth layer, of radix 3 (n = 768), g is also
    // divided by 3: ntt_ascend undoes this layer and multiplies by 3.
    sync_row<Rq>();
    sample_row<(Rq::layers > wire_layers ? -49 : montgomery), 0>(row, coins + stream_words(Rq::n));
    load_row<Rq, 0>(y, cells_of(row), row.thread, true);
    bool invertible = !any_in_row<Rq>(!inverted);
    ntt_forward<Rq>(m, y, table, row.shared, row.thread);
    multiply_values<Rq, ntt_forward_bound<Rq>(), 1>(m, y, x, table, row.thread);
    ntt_ascend<Rq, wire_layers, product_bound<Rq>()>(m, y, table, row.thread);
    constexpr u32 bound = ntt_ascend_bound<Rq, wire_layers, product_bound<Rq>()>();
    RF_UNROLL
    for (u32 r = 0; r < Rq::per_thread; r++) y[r] = m.canonical<bound>(y[r]);
    sync_row<Rq>();
    store_row<Rq, Rq::passes - 1>(y, cells_of(row), row.thread, true);
    sync_row<Rq>();

    const u32 kept = 0u - (u32)invertible;
    u32* copy = secret + Rq::n * Set::secret_width / 32;
    for (u32 unit = row.thread; unit < Rq::n / 8 && row.live; unit += Rq::threads) {
        u32 values[8], words[3];
        Move<u16, 8, 16>::load<u32>(cells_of(row) + unit * 8, [&](u32 i, u32 v) { values[i] = v; });
        pack_bits<12, 8>(values, words);
        RF_UNROLL
        for (u32 i = 0; i < 3; i++) key[unit * 3 + i] = copy[unit * 3 + i] = words[i] & kept;
    }
    constexpr u32 width = Set::secret_width, count = pack_unit(width) < sample_unit ? sample_unit : pack_unit(width);
    for (u32 unit = row.thread; unit < Rq::n / count && row.live; unit += Rq::threads) {
        i32 sample[count];
        u32 values[count], words[count * width / 32];
        sample_unit_of<count>(coins, unit, sample);
        RF_UNROLL
        for (u32 i = 0; i < count; i++) values[i] = (u32)((i32)(2 * Set::eta + 1) - 2 * sample[i]);
        if (unit == 0) values[0] -= 1;
        pack_bits<width, count>(values, words);
        RF_UNROLL
        for (u32 i = 0; i < count * width / 32; i++) secret[unit * (count * width / 32) + i] = words[i] & kept;
    }
    return invertible;
}

}  // namespace rf
