// The response of an attempt: the signature, if all bounds hold, else zeros and the status `again`. All checks are made
// in any case, so the time does not tell which of them failed. 16 threads per item.
#include "prelude.cuh"

#include "mldsa_ring.cuh"
using namespace rf;

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    mldsa_respond(const u32* keys, const u8* masks, const u32* commitments, const u32* hashes, const u32* challenges,
                  u8* signatures, u32* statuses, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    Row<Rq> row(shared, first, end);
    const u64 item = item_of(row, first);
    if (!Task::one_key) keys += item * (polynomials + Set::k) * 256;
    const u32 *errors = keys + Set::l * 256, *dropped_bits = errors + Set::k * 256;
    masks += item * Set::l * mask_row, commitments += item * Set::k * 256;
    u8* to = signatures + item * slot;
    Word challenge[unit];
    challenge_values(row, table, challenges + item * 16, challenge);
    u32 bad = 0, x[unit];

    // z = y + c s1
    RF_LOOP
    for (u32 j = 0; j < Set::l; j++) {
        product<false>(row, table, challenge, keys + j * 256, x);
        unpack_below<Set::mask_bits>(gamma1, masks + j * mask_row, row.thread, [&](u32 c, u32 y) { x[c] = sub_once(x[c] + y, q); });
        RF_UNROLL
        for (u32 c = 0; c < unit; c++) bad |= is_large(x[c], gamma1 - beta);
        pack<Set::mask_bits>(row.thread, [&](u32 c) { return minus(gamma1, x[c]) & ((1u << Set::mask_bits) - 1); },
                             [&](u32 byte, u32 part) {
                                 if (row.live) *(u32*)(to + Set::challenge + j * mask_row + byte) = part;
                             });
    }

    // the hints of w - c s2 + c t0, as bits in the layout of the first pass; those of two polynomials in a word
    constexpr u32 pairs = (Set::k + 1) / 2;
    u32 hints[pairs], count = 0;
    RF_UNROLL
    for (u32 w = 0; w < pairs; w++) hints[w] = 0;
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        u32 r[unit], bits = 0;
        product<true>(row, table, challenge, errors + i * 256, x);
        load_row<Rq, 0>(r, commitments + i * 256, row.thread, true);
        RF_UNROLL
        for (u32 c = 0; c < unit; c++) r[c] = minus(r[c], x[c]);
        product<true>(row, table, challenge, dropped_bits + i * 256, x);
        RF_UNROLL
        for (u32 c = 0; c < unit; c++) {
            const u32 high = high_bits(r[c]);
            bad |= is_large(low_bits(r[c], high), gamma2 - beta) | is_large(x[c], gamma2);
            bits |= (u32)(high_bits(sub_once(r[c] + x[c], q)) != high) << c;
        }
        RF_UNROLL
        for (u32 w = 0; w < pairs; w++) hints[w] |= i / 2 == w ? bits << i % 2 * 16 : 0;
        count += __popc(bits);
    }
    RF_UNROLL
    for (u32 by = 1; by < Rq::threads; by *= 2) count += from_lane(count, by);
    const bool good = !any_in_row<Rq>(bad != 0) && count <= Set::omega;

    // a rejected attempt leaves nothing, because its z would tell about the key
    if (!good) {
        RF_UNROLL
        for (u32 w = 0; w < pairs; w++) hints[w] = 0;
        RF_LOOP
        for (u32 j = 0; j < Set::l; j++)
            pack<Set::mask_bits>(row.thread, [](u32) { return 0u; }, [&](u32 byte, u32 part) {
                if (row.live) *(u32*)(to + Set::challenge + j * mask_row + byte) = part;
            });
    }
    if (row.live)
        for (u32 i = row.thread; i < Set::challenge / 4; i += Rq::threads)
            ((u32*)to)[i] = good ? hashes[item * (Set::challenge / 4) + i] : 0;
    // HintBitPack: the places of the hints of each polynomial, zeros, and where each polynomial's places end
    if (row.live)
        for (u32 i = signature_hints + row.thread; i < slot; i += Rq::threads) to[i] = 0;
    if (!__any_sync(0xffffffff, good)) {
        if (row.live && row.thread == 0) statuses[item] = Task::again;
        return;
    }
    u8* cells = (u8*)row.shared;
    u32 end_of_places = 0;
    RF_LOOP
    for (u32 i = 0; i < Set::k; i++) {
        u32 bits = 0;
        RF_UNROLL
        for (u32 w = 0; w < pairs; w++) bits |= i / 2 == w ? hints[w] >> i % 2 * 16 : 0;
        sync_row<Rq>();
        RF_UNROLL
        for (u32 c = 0; c < unit; c++) cells[Pass<Rq, 0>::coeff(row.thread, c)] = (u8)(bits >> c & 1);
        sync_row<Rq>();
        u32 own = 0;
        RF_UNROLL
        for (u32 c = 0; c < unit; c++) own |= (u32)cells[row.thread * unit + c] << c;
        u32 place = __popc(own);
        RF_UNROLL
        for (u32 by = 1; by < Rq::threads; by *= 2) {
            const u32 before = __shfl_up_sync(0xffffffff, place, by);
            if (row.thread >= by) place += before;
        }
        place += end_of_places;
        end_of_places = __shfl_sync(0xffffffff, place, (threadIdx.x | (Rq::threads - 1)) % 32);
        if (!row.live) continue;
        place -= __popc(own);
        for (; own; own &= own - 1) to[signature_hints + place++] = (u8)(row.thread * unit + __ffs(own) - 1);
        if (row.thread == 0) to[signature_hints + Set::omega + i] = (u8)end_of_places;
    }
    if (row.live && row.thread == 0) statuses[item] = good ? Task::ok : Task::again;
}
