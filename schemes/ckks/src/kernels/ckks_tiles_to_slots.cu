// Decoding, last kernel: the last layers of the FFT, and its elements, in bit-reversed order, to slots. One block per
// tile.
#include "prelude.cuh"

#include "ckks_embedding.cuh"
using namespace rf;

// slots: the slot of each element
extern "C" __global__ void __launch_bounds__(Task::threads)
    ckks_tiles_to_slots(const Complex* tiles, Complex* numbers, const Complex* roots, const u32* slots, u64 first, u64) {
    RF_SHARED(shared);
    Complex* tile = (Complex*)shared;
    const u64 item = first + blockIdx.x / Task::tiles;
    const u32 begin = blockIdx.x % Task::tiles * Task::tile;
    for (u32 i = threadIdx.x; i < Task::tile; i += Task::threads) tile[i] = tiles[item * Task::slots + begin + i];
    __syncthreads();
    layers_in_tile<true>(tile, roots);
    for (u32 i = threadIdx.x; i < Task::tile; i += Task::threads) numbers[item * Task::slots + slot_of(slots[begin + i])] = tile[i];
}
