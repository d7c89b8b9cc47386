// Merkle nodes of several layers by Poseidon2. A block climbs from `span` digests, and its threads wait for each other after
// each layer.
#include "prelude.cuh"
using namespace poseidon2;

// digests: the layers, one after another
extern "C" __global__ void __launch_bounds__(Hash::threads, Hash::resident)
    poseidon2_climbed(const Word* children, Word* digests, const Word* constants, u64 each, u64 count, u64 layers, u64 span,
                      u64 first, u64) {
    const u64 blocks = count / span, item = first + blockIdx.x / (u32)blocks, block = blockIdx.x % (u32)blocks;
    u64 total = 0, nodes = count;
    RF_LOOP
    for (u64 layer = 0; layer < layers; layer++) total += nodes /= each;
    const u32 words = (u32)each * Hash::digest;
    const Word* below = children + item * count * Hash::digest;
    Word* above = digests + item * total * Hash::digest;
    u64 width = span;
    nodes = count;
    RF_LOOP
    for (u64 layer = 0; layer < layers; layer++) {
        width /= each, nodes /= each;
        RF_LOOP
        for (u64 i = threadIdx.x; i < width; i += blockDim.x) {
            Word x[Hash::width];
            const u64 node = block * width + i;
            load<Hash>(x, below + node * words, words);
            permute<Hash>(x, constants);
            store<Hash>(above, node, x, false);
        }
        __syncthreads();
        below = above;
        above += nodes * Hash::digest;
    }
}
