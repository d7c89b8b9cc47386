// Launches a kernel for a request: checks the request against the kernel's parameters, then runs blocks (or clusters)
// one after another.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "block.hpp"
#include "grid.hpp"
#include "kernel.hpp"
#include "memory.hpp"
#include "request.hpp"
#include "schedule.hpp"

namespace rf_host {

// Returns ok if the request fits the kernel, else an outcome that says why it does not.
inline Outcome check(const Request& request) {
    const auto bad = [](const std::string& message) { return Outcome{Status::bad_request, message}; };
    const std::size_t pointers = request.slots.size(), numbers = request.numbers.size() + 2;
    if (pointers + numbers != kernel.words)
        return bad("the kernel takes " + std::to_string(kernel.words) + " parameters, not " + std::to_string(pointers) +
                   " buffers and " + std::to_string(numbers) + " numbers");
    if (request.threads < 1 || request.threads > max_threads)
        return bad("a block has 1 to " + std::to_string(max_threads) + " threads, not " + std::to_string(request.threads));
    if (request.cluster < 1 || request.grid % request.cluster != 0 || request.cluster * request.threads > max_cluster_threads)
        return bad(std::to_string(request.grid) + " blocks do not fit clusters of " + std::to_string(request.cluster) + ", or these exceed " +
                   std::to_string(max_cluster_threads) + " threads");
    if (request.grid > INT32_MAX) return bad("a grid has at most 2^31 - 1 blocks, not " + std::to_string(request.grid));
    for (std::size_t i = 0; i < pointers; i++) {
        if (!request.slots[i]) return bad("buffer " + std::to_string(i) + " must alias an earlier buffer of the same length");
        if (request.starts[i] > request.slots[i]->size()) return bad("the pointer of buffer " + std::to_string(i) + " is past its end");
    }
    return {};
}

// Runs a block, or all blocks of a cluster, in new shared memory filled with a poison pattern.
inline Outcome run_blocks(std::uint32_t first, const Request& request, Schedule& schedule, const std::function<void()>& body) {
    constexpr int poison = 0xa5;  // on a GPU, shared memory starts with whatever the last block left
    std::deque<Guarded> memories;
    std::vector<unsigned char*> shared;
    for (std::uint64_t i = 0; i < request.cluster; i++) {
        shared.push_back(memories.emplace_back(request.shared_bytes).data());
        std::memset(shared.back(), poison, request.shared_bytes);
    }
    Outcome outcome = run_threads(first, shared, request.shared_bytes, schedule, body);
    for (const Guarded& memory : memories)
        if (const auto damage = memory.damage(); damage && outcome.ok()) outcome = {Status::shared_bounds, "shared memory " + *damage};
    if (!outcome.ok()) outcome.message = "block " + std::to_string(first) + ": " + outcome.message;
    return outcome;
}

inline Outcome run_grid(const Request& request, const std::function<void()>& body) {
    gridDim.x = static_cast<unsigned>(request.grid);
    blockDim.x = static_cast<unsigned>(request.threads);
    Schedule schedule(request.schedule);
    const auto cluster = static_cast<std::uint32_t>(request.cluster);
    for (std::uint32_t index : schedule.order(gridDim.x / cluster)) {
        const Outcome outcome = run_blocks(index * cluster, request, schedule, body);
        if (!outcome.ok()) return outcome;
    }
    for (std::size_t i = 0; i < request.slots.size(); i++) {
        if (const auto damage = request.slots[i]->damage())
            return {Status::buffer_bounds, "buffer " + std::to_string(i) + " " + *damage};
        for (const Slot& table : request.lists[i])
            if (const auto damage = table->damage())
                return {Status::buffer_bounds, "a table of buffer " + std::to_string(i) + " " + *damage};
    }
    return {};
}

inline Outcome launch(const Request& request) {
    const Outcome outcome = check(request);
    if (!outcome.ok()) return outcome;
    std::vector<std::uint64_t> words;
    for (std::size_t i = 0; i < request.slots.size(); i++)
        words.push_back(reinterpret_cast<std::uintptr_t>(request.slots[i]->data() + request.starts[i]));
    words.insert(words.end(), request.numbers.begin(), request.numbers.end());
    words.insert(words.end(), {request.first, request.end});
    return run_grid(request, [&] { kernel.call(words.data()); });
}

// Answers requests until the input ends.
inline void serve() {
    while (const auto request = read_request()) write_response(launch(*request), *request);
}

}  // namespace rf_host
