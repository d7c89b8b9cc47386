// Unpacking of secret keys of CTRU-Prime. Include this header after the generated header prelude.cuh.
#pragma once
#include "ctru_prime_fields.cuh"
#include "ctru_prime_ring.cuh"

namespace rf {

// Unpacks the f of a secret key into the cells. Returns the index of the first invalid field that this thread unpacked,
// or n + 1 if there was none. All threads of the `row` must call it. It ends with a barrier.
RF_FN u32 load_secret(const Row<Rq>& row, const u8* secret) {
    u32* cells = cells_of(row);
    u32 bad = Set::n + 1;
    for (u32 i = row.thread; i < Set::pke_key; i += Rq::threads) {
        u32 byte = secret[i], fields[2] = {byte & 15, byte >> 4};
        RF_UNROLL
        for (u32 j = 0; j < 2; j++) {
            u32 place = 2 * i + j;
            bad = min_word(bad, bad_place(fields[j], place));
            cells[place] = Set::key_offset - fields[j];
        }
    }
    sync_row<Rq>();
    return bad;
}

}  // namespace rf
