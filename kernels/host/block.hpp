// Runs the threads of a block.
#pragma once

#include <functional>

#include "outcome.hpp"
#include "schedule.hpp"

namespace rf_host {

// Runs one block of blockDim.x threads, each of which calls `body`.
Outcome run_threads(Schedule& schedule, const std::function<void()>& body);

}  // namespace rf_host
