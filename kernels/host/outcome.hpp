// The outcome of a run: a status and a message.
#pragma once

#include <cstdint>
#include <string>

namespace rf_host {

enum class Status : std::uint64_t {
    ok = 0,
    bad_request = 1,     // the request does not fit the kernel or exceeds a limit of the runner
    block_barrier = 2,   // a __syncthreads that not every thread of the block reaches
    warp_barrier = 3,    // a warp operation that not every lane of its mask reaches, or whose mask is wrong
    shuffle = 4,         // a shuffle that reads a lane outside its mask, or has no valid width
    shared_bounds = 5,   // a write outside shared memory
    buffer_bounds = 6,   // a write outside a buffer
    cluster_barrier = 7, // a cluster barrier that not every thread reaches, or whose arrive and wait do not alternate
    cluster = 8,         // access to shared memory of a block that is outside the cluster or may not be running
    copies = 9,          // a thread ends before its copies to shared memory are complete
};

struct Outcome {
    Status status = Status::ok;
    std::string message;

    bool ok() const { return status == Status::ok; }
};

}  // namespace rf_host
