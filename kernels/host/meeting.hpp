// What the operations of a kernel ask of the block that runs it: to wait for other threads, or to end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "grid.hpp"

namespace rf_host {

// A line of the kernel's text; as a default argument, that of the caller.
struct Site {
    const char* file;
    int line;

    static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

// What a lane takes from a meeting of its warp.
struct Taken {
    std::uint64_t value = 0;   // what its source lane gave
    std::uint32_t ballot = 0;  // the lanes that gave something other than zero
};

// Waits until every thread of the block is here.
void meet_block(const char* what, Site site);

// Says that the thread is at the barrier of its cluster's blocks; waits until all their threads said so.
void arrive_at_cluster(Site site);
void wait_for_cluster(Site site);

// The same place in the shared memory of a block of the cluster.
void* in_block(void* address, std::uint32_t block);

// A thread's copies to shared memory that it does not wait for: what was there is gone at once, and what comes is there once the
// thread has waited.
void copy_later(void* shared, const void* from, std::size_t bytes);
void await_copies();

// Waits until every lane of the mask is here; gives a value and takes that of the lane `source`.
Taken meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source);

// Ends the block: a shuffle has no valid width.
[[noreturn]] void refuse_width(const char* what, Site site, int width);

// Ends the block: a shuffle reads a lane that is not in its mask.
[[noreturn]] void refuse_source(const char* what, Site site, std::uint32_t mask, std::uint32_t source);

inline std::uint32_t lane() { return threadIdx.x % warpSize; }

}  // namespace rf_host
