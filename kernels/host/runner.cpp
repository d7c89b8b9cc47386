// Runs one kernel on the CPU for tests: reads requests from standard input and answers each on standard output, until
// the input ends.
//
//   c++ FLAGS -c runner.cpp
//   c++ FLAGS -O2 -fno-sanitize=all [-DRF_HOST_ASAN=1] -c block.cpp
//   c++ FLAGS -I<headers> -I<folder of prelude.cuh> -DRF_KERNEL_FILE='"/path/forward.cu"' -DRF_KERNEL=forward
//       -DRF_PORTS=3 -DRF_NUMBERS=0 -o runner kernel.cpp runner.o block.o
//   FLAGS: -std=c++17 -O1 -ffp-contract=off -fno-strict-aliasing
//          [-g1 -fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all]
//
// The kernel: extern "C" __global__ void NAME(T*..., u64 numbers..., u64 first, u64 end).
//
// Every number below is a little-endian u64.
//
//   request   blocks in the grid, threads in a block, blocks in a cluster, bytes of shared memory, schedule, first,
//             end; number of numbers, the numbers; number of buffers, then for each buffer: byte offset of its pointer,
//             alias, length in bytes, contents
//   schedule  the order of blocks and of threads. 0: ascending. 1: descending. Other: a random order with this seed,
//             in which the order of threads changes at barriers
//   alias     2^64 - 1: the buffer has separate memory. 2^64 - 2: the buffer is an array of pointers to tables; the
//             length is their number, and the contents are, for each table, its length in bytes and contents. Other:
//             the number of an earlier buffer of the same length, whose memory this buffer shares; no contents follow
//   response  status, length of the message, message (UTF-8), number of buffers; then for each buffer: length, contents
//
// Status 0 is success; `Status` in outcome.hpp lists the others. The response has the contents of the buffers after the
// run, with length 0 for arrays of pointers. It has this form also if the run failed. Exit code 2, with a line on
// standard error, means that the input ended early or that memory ran out. A sanitizer's finding, or a fault such as a
// stack overflow, ends the process without a response.
#include <exception>

#include "launch.hpp"

int main() try {
    rf_host::serve();
} catch (const std::exception& error) {
    rf_host::die(error.what());
}
