// Merkle nodes by Poseidon2: permutes the digests of a node's children and keeps the first digest of the state
// (Plonky3's TruncatedPermutation).
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads, Hash::resident)
    poseidon2_nodes(const Word* children, Word* digests, const Word* constants, u64 each, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u32 words = (u32)each * Hash::digest;
    Word x[Hash::width];
    load<Hash>(x, children + item * words, words);
    permute<Hash>(x, constants);
    store<Hash>(digests, item, x, false);
}
