// Runs one kernel on the CPU for tests: reads requests on standard input, answers each on standard output, until the input ends.
//
//   c++ FLAGS -c runner.cpp
//   c++ FLAGS -O2 -fno-sanitize=all [-DRF_HOST_ASAN=1] -c block.cpp
//   c++ FLAGS -I<headers> -I<folder of prelude.cuh> -DRF_KERNEL_FILE='"/path/forward.cu"' -DRF_KERNEL=forward -DRF_PORTS=3 -DRF_NUMBERS=0
//       -o runner kernel.cpp runner.o block.o
//   FLAGS: -std=c++17 -O1 -ffp-contract=off -fno-strict-aliasing
//          [-g1 -fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all]
//
// The kernel: extern "C" __global__ void NAME(T*..., u64 numbers..., u64 first, u64 end).
//
// Every number below is a little-endian u64.
//
//   request   blocks in the grid, threads in a block, blocks in a cluster, bytes of shared memory, schedule, first, end; how many numbers, the
//             numbers; how many buffers, then for each buffer: the byte that its pointer is to, alias, length in bytes, contents
//   schedule  0 ascending, 1 descending, other: the seed of a random order; for threads, redrawn at barriers, and for blocks
//   alias     2^64 - 1 for memory of its own; else the number of an earlier buffer of the same length, whose memory this one
//             shares: then no contents follow; 2^64 - 2 for an array of pointers to tables: then the length is how many, and
//             each has its length in bytes and contents
//   response  status, length of the message, message (UTF-8), number of buffers; then for each buffer: length, contents
//
// Status 0 is success; Status in outcome.hpp has the others. The response carries the buffers as the run left them (of arrays of pointers nothing), and has
// that form also when the run failed. Exit code 2, with a line on standard error: the input broke off, or there is no memory.
// A sanitizer's finding, or a fault such as a stack overflow, ends the process without a response.
#include <exception>

#include "launch.hpp"

int main() try {
    rf_host::serve();
} catch (const std::exception& error) {
    rf_host::die(error.what());
}
