// The numbers of the attempts of a round of a repetition. One thread per attempt.
#include "prelude.cuh"

#include "repeat.cuh"
using namespace rf;

// in: `round`, the number of the round's first attempt, then attempts per item
extern "C" __global__ void __launch_bounds__(Task::threads)
    repeat_number(const u32* round, u32* numbers, u64 first, u64 end) {
    const u64 attempt = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (attempt < end) numbers[attempt] = round[0] + (u32)attempt % attempts_each(round);
}
