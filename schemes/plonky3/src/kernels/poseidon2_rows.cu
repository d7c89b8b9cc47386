// The digest of each row of a matrix: a sponge of rate 8 without padding, whose blocks replace the state's first words.
#include "poseidon2.cuh"
#include "prelude.cuh"
using namespace poseidon2;

extern "C" __global__ void __launch_bounds__(Hash::threads)
    poseidon2_rows(const u32* rows, u32* digests, const u32* constants, u64 first, u64 end) {
    u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u32* row = rows + item * Hash::columns;
    u32 x[width] = {};
    RF_LOOP
    for (u32 column = 0; column < Hash::columns; column += digest) {
        RF_UNROLL
        for (u32 i = 0; i < digest; ++i) {
            if (column + i < Hash::columns) x[i] = row[column + i];
        }
        permute<Hash>(x, constants);
    }
    RF_UNROLL
    for (u32 i = 0; i < digest; ++i) digests[item * digest + i] = x[i];
}
