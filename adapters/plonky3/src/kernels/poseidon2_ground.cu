// Proof of work over a duplex sponge (Plonky3's DuplexChallenger): each thread tries some witnesses, one after another, and
// stores the number of the first that works, or 2^32 - 1. A witness works if the last word of the rate ends in zeros.
#include "prelude.cuh"
using namespace poseidon2;

// search: the first witness of all, its place in the state, and the bits that must be zero
extern "C" __global__ void __launch_bounds__(Hash::threads, Hash::resident)
    poseidon2_ground(const Word* state, const u64* search, u32* found, const Word* constants, u64 each, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64 begin = search[0] + item * each, place = search[1], bits = search[2];
    u32 number = 0xffffffff;
    RF_LOOP
    for (u32 i = 0; i < (u32)each && number == 0xffffffff; ++i) {
        Word x[Hash::width];
        load<Hash>(x, state, Hash::width);
        RF_UNROLL
        for (u32 j = 0; j < Hash::digest; ++j)
            if (j == place) x[j] = Hash::Field::of(begin + i);
        permute<Hash>(x, constants);
        if ((Hash::Field::residue(x[Hash::digest - 1]) & bits) == 0) number = i;
    }
    found[item] = number;
}
