// The operations of a kernel that need its running block: barriers, cluster memory, asynchronous copies, and ending the
// run with an error.
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
    std::uint64_t value = 0;   // the value that the lane's source lane gave
    std::uint32_t ballot = 0;  // a bit for each lane that gave a value other than zero
};

// Waits until every thread of the block has arrived at this barrier.
void meet_block(const char* what, Site site);

// Arrives at the barrier of the cluster's blocks; waits until all threads of these blocks have arrived.
void arrive_at_cluster(Site site);
void wait_for_cluster(Site site);

// Returns the address in the shared memory of block `block` of the cluster that corresponds to `address`.
void* in_block(void* address, std::uint32_t block);

// Starts an asynchronous copy to shared memory; waits for all copies of this thread. A started copy destroys the old
// contents at once, and the new contents may be read only after the wait.
void copy_later(void* shared, const void* from, std::size_t bytes);
void await_copies();

// Waits until every lane of the mask has arrived. The lane gives a value and receives the value that the lane `source`
// gave.
Taken meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source);

// Ends the run with an error: the width of a shuffle is not 1, 2, 4, 8, 16 or 32.
[[noreturn]] void refuse_width(const char* what, Site site, int width);

// Ends the run with an error: a shuffle reads a lane that is not in its mask.
[[noreturn]] void refuse_source(const char* what, Site site, std::uint32_t mask, std::uint32_t source);

inline std::uint32_t lane() { return threadIdx.x % warpSize; }

}  // namespace rf_host
