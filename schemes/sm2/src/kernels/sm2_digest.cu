// Computes digests e = SM3(Z_A || message): one thread per item. Messages are passed in slots of `words` 32-bit words;
// a message is the first `lengths[item]` bytes of its slot.
#include "sm2.cuh"
#include "sm3.cuh"
#include "prelude.cuh"
using namespace sm2;

extern "C" __global__ void __launch_bounds__(Task::threads)
    sm2_digest(const u32* identities, const u32* messages, const u32* lengths, u32* digests, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    const u32* identity = identities + (Task::one_identity ? 0 : 8 * item);
    const u32* message = messages + Task::words * item;
    const u32 length = 32 + min_word(lengths[item], 4 * Task::words);
    Sm3 hash;
    RF_LOOP
    for (u32 done = 0; done < length + 9; done += 64) {
        u32 w[16];
        RF_UNROLL
        for (u32 i = 0; i < 16; i++) {
            const u32 at = done + 4 * i;
            // the bytes of this word that belong to the input; if the input ends here, the padding bit follows them
            const u32 left = at < length ? min_word(length - at, 4) : 0;
            u32 word = left == 0 ? 0 : at < 32 ? identity[at / 4] : message[at / 4 - 8];
            word = swap_bytes(word);
            const u32 keep = left == 0 ? 0 : 0xffffffff << 8 * (4 - left);
            const u32 end_bit = at <= length && left < 4 ? 0x80000000 >> 8 * left : 0;
            w[i] = (word & keep) | end_bit;
        }
        if (done + 64 >= length + 9) w[14] = length >> 29, w[15] = length << 3;
        hash.compress(w);
    }
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) digests[8 * item + i] = swap_bytes(hash.state[i]);
}
