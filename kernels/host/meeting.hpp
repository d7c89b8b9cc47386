// The operations of a kernel that need the block that runs it: waiting for other threads, and ending the run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "grid.hpp"

namespace rf_host {

// A line of the kernel's source; `here`, as a default argument, gives the caller's line.
struct Site {
    const char* file;
    int line;

    static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

// The result of a warp barrier for one lane.
struct Taken {
    std::uint64_t value = 0;   // the value that its source lane gave
    std::uint32_t ballot = 0;  // the lanes that gave something other than zero
};

// Waits until every thread of the block has arrived.
void meet_block(const char* what, Site site);

// Arrives at the barrier of the cluster's blocks; waits until all their threads have arrived.
void arrive_at_cluster(Site site);
void wait_for_cluster(Site site);

// The same address in the shared memory of a block of the cluster.
void* in_block(void* address, std::uint32_t block);

// Asynchronous copies to shared memory: the old contents are lost at once, and the new ones are there once the thread
// has waited.
void copy_later(void* shared, const void* from, std::size_t bytes);
void await_copies();

// Waits until every lane of the mask has arrived; gives a value and takes that of the lane `source`.
Taken meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source);

// Ends the run: a shuffle has no valid width.
[[noreturn]] void refuse_width(const char* what, Site site, int width);

// Ends the run: a shuffle reads a lane that is not in its mask.
[[noreturn]] void refuse_source(const char* what, Site site, std::uint32_t mask, std::uint32_t source);

inline std::uint32_t lane() { return threadIdx.x % warpSize; }

}  // namespace rf_host
