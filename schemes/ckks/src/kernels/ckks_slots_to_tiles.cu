// Encoding, first kernel: numbers in slots to elements in bit-reversed order, and the first layers of the inverse FFT.
// One block per tile.
#include "prelude.cuh"

#include "ckks_embedding.cuh"
using namespace rf;

// slots: the slot of each element
extern "C" __global__ void __launch_bounds__(Task::threads)
    ckks_slots_to_tiles(const Complex* numbers, Complex* tiles, u32* statuses, const Complex* roots, const u32* slots,
                        u64 first, u64) {
    RF_SHARED(shared);
    Complex* tile = (Complex*)shared;
    const u64 item = first + blockIdx.x / Task::tiles;
    const u32 begin = blockIdx.x % Task::tiles * Task::tile;
    for (u32 i = threadIdx.x; i < Task::tile; i += Task::threads) tile[i] = numbers[item * Task::slots + slot_of(slots[begin + i])];
    __syncthreads();
    layers_in_tile<false>(tile, roots);
    for (u32 i = threadIdx.x; i < Task::tile; i += Task::threads) tiles[item * Task::slots + begin + i] = tile[i];
    if (begin == 0 && threadIdx.x == 0) statuses[item] = Task::ok;
}
