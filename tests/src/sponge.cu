// Digests of the beginnings of a message, for comparison with another implementation.
#include "keccak.cuh"
#include "prelude.cuh"
using namespace rf;

template <u32 Bytes>
RF_FN void digest(const u64* message, u64* out) {
    Task::Hash hash;
    hash.absorb<Bytes>([&](u32 i) {
        const u64 below_end = i < Bytes / 8 ? ~0ull : (1ull << 8 * (Bytes % 8)) - 1;
        return message[i] & below_end;
    });
    hash.squeeze<Task::words>([&](u32 i, u64 word) { out[i] = word; });
}

template <u32... Bytes>
RF_FN void digests(const u64* message, u64* out, Lengths<Bytes...>) {
    u32 at = 0;
    ((digest<Bytes>(message, out + Task::words * at++)), ...);
}

extern "C" __global__ void __launch_bounds__(Task::threads) sponge(const u64* messages, u64* out, u64 first, u64 end) {
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;
    digests(messages + item * Task::message_words, out + item * Task::item_words, Task::lengths());
}
