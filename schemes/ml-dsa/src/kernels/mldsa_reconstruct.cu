// Third stage of verification: the high bits of the commitment A z - c t1 2^13, corrected by the hints, and the bound of
// z. `values` keeps the evaluations of z. 16 threads per item.
#include "kem_status.cuh"
#include "prelude.cuh"

#include "mldsa_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mldsa_reconstruct(const u32* matrix, const u32* keys, const u8* slots, const u32* challenges, const u32* hints,
                      u32* values, u8* high, u32* statuses, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    const u64 item = item_of(row, first);
    if (!Task::one_key) matrix += item * matrix_words, keys += item * Set::k * 256;
    values += item * Set::l * 256, high += item * Set::k * high_row;
    const u8* z = slots + item * slot + Set::challenge;
    Word challenge[unit];
    challenge_values(row, table, challenges + item * 16, challenge);
    u32 bad = 0, x[unit];
    RF_LOOP
    for (u32 j = 0; j < Set::l; j++) {
        unpack_below<Set::mask_bits>(gamma1, z + j * mask_row, row.thread, [&](u32 c, u32 of) {
            x[c] = of;
            bad |= is_large(of, gamma1 - beta);
        });
        store_values(row, table, [&](u32 c) { return x[c]; }, values + j * 256);
    }
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        Dot dot;
        dot.add(matrix + i * Set::l * 256, values, row);
        Word b[unit];
        load_values(row, keys + i * 256, b);
        dot.add(challenge, b);
        dot.coefficients(row, table, x);
        const u32 hint = hints[(item * Set::k + i) * 8 + row.thread / 2] >> row.thread % 2 * 16;
        constexpr u32 count = Set::high_bits == 4 ? 16 : 44;
        // UseHint: the next higher multiple if the low bits are positive, else the next lower one
        store_high(row, [&](u32 c) {
            const u32 near = high_bits(x[c]), low = low_bits(x[c], near);
            const u32 next = low > 0 && low < q / 2 ? near + 1 : near + count - 1;
            return hint >> c & 1 ? sub_once(next, count) : near;
        }, high + i * high_row);
    }
    const bool large = any_in_row<Rq>(bad != 0);
    if (row.live && row.thread == 0 && statuses[item] == Status::pending)
        statuses[item] = large ? Task::invalid : Status::half_done;
}
