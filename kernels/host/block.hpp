// Runs the threads of a block, or those of all blocks of a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "outcome.hpp"
#include "schedule.hpp"

namespace rf_host {

// Runs shared.size() blocks at once, starting with block `first`; shared[i] is the shared memory of the i-th block.
// Each block has blockDim.x threads, which call `body`.
Outcome run_threads(std::uint32_t first, const std::vector<unsigned char*>& shared, std::size_t shared_bytes,
                    Schedule& schedule, const std::function<void()>& body);

}  // namespace rf_host
