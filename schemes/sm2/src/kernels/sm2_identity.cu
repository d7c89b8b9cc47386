// Computes Z_A = SM3(ENTL || identifier || a || b || G || key), where ENTL is the identifier's length in bits, as two
// big-endian bytes: one thread per key. Identifiers are passed in slots of `words` 32-bit words; an identifier is the
// first `length` bytes of its slot.
//
// The hashed input is the bitwise or of two sequences of words, each shifted by its byte offset. The first is the
// identifier, at byte 2, after its length in bits. The second is the curve, the key and the padding bit, at byte
// `start`. Each sequence is 0 outside of its range.
#include "sm2.cuh"
#include "sm3.cuh"
#include "prelude.cuh"
using namespace sm2;

// The coefficients a and b, and the base point G, as big-endian words.
RF_CONST u32 curve_words[32] = {
    0xfffffffe, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x00000000, 0xffffffff, 0xfffffffc,
    0x28e9fa9e, 0x9d9f5e34, 0x4d5a9e4b, 0xcf6509a7, 0xf39789f5, 0x15ab8f92, 0xddbcbd41, 0x4d940e93,
    0x32c4ae2c, 0x1f198119, 0x5f990446, 0x6a39c994, 0x8fe30bbf, 0xf2660be1, 0x715a4589, 0x334c74c7,
    0xbc3736a2, 0xf4f6779c, 0x59bdcee3, 0x6b692153, 0xd0a9877c, 0xc62a4740, 0x02df32e5, 0x2139f0a0,
};

// Returns word i of an identifier, with zeros after its end.
RF_FN u32 id_word(const u32* id, u32 length, u32 i) {
    if (4 * i >= length) return 0;
    return swap_bytes(id[i]) & 0xffffffff << 8 * (4 - min_word(length - 4 * i, 4));
}

// Returns word i of the input after the identifier; 0 before the first word and after the last.
RF_FN u32 tail_word(const u32* key, u32 i) {
    if (i < 32) return curve_words[i];
    if (i < 48) return swap_bytes(key[i - 32]);
    return i == 48 ? 0x80000000 : 0;
}

extern "C" __global__ void __launch_bounds__(Task::threads)
    sm2_identity(const u32* ids, const u32* lengths, const u32* keys, u32* identities, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    const u32* id = ids + (Task::one_id ? 0 : Task::words * item);
    const u32* key = keys + 16 * item;
    const u32 length = min_word(lengths[Task::one_id ? 0 : item], Task::longest);
    const u32 start = 2 + length, bytes = start + 4 * 48;
    Sm3 hash;
    u32 head = 8 * length, tail = 0;
    RF_LOOP
    for (u32 done = 0; done < bytes + 9; done += 64) {
        u32 w[16];
        RF_UNROLL
        for (u32 i = 0; i < 16; i++) {
            const u32 at = done / 4 + i;
            const u32 next_head = id_word(id, length, at), next_tail = tail_word(key, at - start / 4);
            w[i] = head << 16 | next_head >> 16 | low(join(next_tail, tail) >> 8 * (start % 4));
            head = next_head, tail = next_tail;
        }
        if (done + 64 >= bytes + 9) w[15] = 8 * bytes;
        hash.compress(w);
    }
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) identities[8 * item + i] = swap_bytes(hash.state[i]);
}
