// Merkle nodes with injected rows, by Poseidon2. Compresses the digests of a node's children, then compresses the
// result with the digest of the row that is injected at this node.
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads, Hash::resident)
    poseidon2_injected(const Word* children, const Word* rows, Word* digests, const Word* constants, u64 each, u64 first,
                       u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u32 words = (u32)each * Hash::digest;
    Word x[Hash::width];
    load<Hash>(x, children + item * words, words);
    RF_LOOP
    for (u32 part = 0; part < 2; ++part) {
        if (part == 1) load<Hash>(x + Hash::digest, rows + item * Hash::digest, Hash::digest, Hash::width - Hash::digest);
        permute<Hash>(x, constants);
    }
    store<Hash>(digests, item, x, false);
}
