// Runs the threads of a block, or of the blocks of a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "outcome.hpp"
#include "schedule.hpp"

namespace rf_host {

// Runs at once the blocks from `first` on that have these shared memories, of blockDim.x threads, each of which calls `body`.
Outcome run_threads(std::uint32_t first, const std::vector<unsigned char*>& shared, std::size_t shared_bytes,
                    Schedule& schedule, const std::function<void()>& body);

}  // namespace rf_host
