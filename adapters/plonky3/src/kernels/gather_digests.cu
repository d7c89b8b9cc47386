// Gathers digests of the layers of a tree: one thread per digest. Layers and indices are limited to those that exist.
#include "prelude.cuh"
using namespace rf;

extern "C" __global__ void gather_digests(LAYER_PARAMETERS, const u32x2* places, Word* to, COUNT_PARAMETERS, u64 digest,
                                          u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const Word* const layers[] = {LAYERS};
    const u64 counts[] = {COUNTS};
    const u32x2 place = places[item];
    const u32 layer = min_word(place.x, (u32)(sizeof(counts) / sizeof(u64)) - 1);
    const u64 index = place.y < counts[layer] ? place.y : counts[layer] - 1;
    RF_LOOP
    for (u64 i = 0; i < digest; i++) to[item * digest + i] = layers[layer][index * digest + i];
}
