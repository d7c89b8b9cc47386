// ExpandA of FIPS 204: samples the polynomials of the matrix as evaluations from its public seed rho, one thread per
// polynomial. A block of SHAKE-128 has 56 numbers of 23 bits, of which those below q are accepted.
#include "keccak.cuh"
#include "prelude.cuh"

#include "mldsa_set.cuh"
#include "rejection.cuh"
using namespace rf;

constexpr u32 entries = Set::k * Set::l, items = Task::threads / entries;

extern "C" __global__ void __launch_bounds__(Task::threads) mldsa_matrix(const u64* rho, u32* matrix, u64 first, u64 end) {
    RF_SHARED(shared);
    const u64 block_item = first + (u64)blockIdx.x * items, item = block_item + threadIdx.x / entries;
    const bool live = threadIdx.x < items * entries && item < end;
    const u64* seed = rho + (live ? item : first) * 4;
    const u32 entry = threadIdx.x % entries, row = entry / Set::l, column = entry % Set::l;
    Shake128 xof;
    xof.absorb<34>([&](u32 i) { return i < 4 ? seed[i] : (u64)(column | row << 8); });
    sample_by_rejection<256>(shared, Task::pitch, live, matrix + block_item * matrix_words, [&](u32* numbers) {
        keccak_f(xof.state);
        u32 kept = 0;
        RF_UNROLL
        for (u32 c = 0; c < 56; c++) {
            const u32 at = 24 * c % 64, i = 24 * c / 64;
            const u64 bits = xof.state[i] >> at | (at > 40 ? xof.state[i + 1] << (64 - at) : 0);
            numbers[kept] = (u32)bits & 0x7fffff;
            kept += numbers[kept] < q;
        }
        return kept;
    });
}
