// Merkle nodes of several layers by Poseidon2. A block climbs from `span` digests, and its threads wait for each other after
// each layer. A thread computes a node; where a block has at most `few` nodes of a layer, several threads do.
#include "prelude.cuh"
using namespace poseidon2;

// digests: the layers, one after another
extern "C" __global__ void __launch_bounds__(Hash::threads, Hash::resident)
    poseidon2_climbed(const Word* children, Word* digests, const Word* constants, u64 each, u64 count, u64 layers, u64 span,
                      u64 few, u64 first, u64) {
    const u64 blocks = count / span, item = first + blockIdx.x / (u32)blocks, block = blockIdx.x % (u32)blocks;
    u64 total = 0, nodes = count;
    RF_LOOP
    for (u64 layer = 0; layer < layers; layer++) total += nodes /= each;
    constexpr u32 lanes = Hash::width / 4;
    const u32 words = (u32)each * Hash::digest, lane = threadIdx.x % lanes, at_once = blockDim.x / lanes;
    const Word* below = children + item * count * Hash::digest;
    Word* above = digests + item * total * Hash::digest;
    u64 width = span;
    nodes = count;
    RF_LOOP
    for (u64 layer = 0; layer < layers; layer++) {
        width /= each, nodes /= each;
        if (width <= few) {
            RF_LOOP
            for (u64 begin = 0; begin < width; begin += at_once) {
                const u64 i = begin + threadIdx.x / lanes, node = block * width + (i < width ? i : 0);
                Word x[4];
                load<Hash>(x, below + node * words + lane * 4, lane * 4 < words ? 4 : 0, 4);
                permute_lanes<Hash>(x, constants);
                if (i >= width || lane * 4 >= Hash::digest) continue;
                RF_UNROLL
                for (u32 k = 0; k < 4; ++k) above[node * Hash::digest + lane * 4 + k] = Hash::Field::canonical(x[k]);
            }
        } else {
            RF_LOOP
            for (u64 i = threadIdx.x; i < width; i += blockDim.x) {
                Word x[Hash::width];
                const u64 node = block * width + i;
                load<Hash>(x, below + node * words, words);
                permute<Hash>(x, constants);
                store<Hash>(above, node, x, false);
            }
        }
        __syncthreads();
        below = above;
        above += nodes * Hash::digest;
    }
}
