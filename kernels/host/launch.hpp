// Launches a kernel as a request asks: checks it against the kernel's parameters, runs the blocks one after another.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "block.hpp"
#include "grid.hpp"
#include "memory.hpp"
#include "request.hpp"
#include "schedule.hpp"

namespace rf_host {

// Says what is wrong with a request for a kernel of `pointers` pointer parameters.
inline Outcome check(const Request& request, std::size_t pointers) {
    const auto bad = [](const std::string& message) { return Outcome{Status::bad_request, message}; };
    if (request.slots.size() != pointers)
        return bad("the kernel takes " + std::to_string(pointers) + " buffers, not " + std::to_string(request.slots.size()));
    if (request.threads < 1 || request.threads > max_threads)
        return bad("a block has 1 to " + std::to_string(max_threads) + " threads, not " + std::to_string(request.threads));
    if (request.grid > INT32_MAX) return bad("a grid has at most 2^31 - 1 blocks, not " + std::to_string(request.grid));
    for (std::size_t i = 0; i < pointers; i++)
        if (!request.slots[i]) return bad("buffer " + std::to_string(i) + " is an alias of no earlier buffer of its length");
    return {};
}

inline Outcome run_block(std::uint32_t index, std::size_t shared_bytes, Schedule& schedule, const std::function<void()>& body) {
    constexpr int poison = 0xa5;  // on a GPU, shared memory starts with whatever the last block left
    const Guarded shared(shared_bytes);
    std::memset(shared.data(), poison, shared_bytes);
    shared_memory = shared.data();
    blockIdx.x = index;
    Outcome outcome = block.run(schedule, body);
    if (outcome.ok())
        if (const auto damage = shared.damage()) outcome = {Status::shared_bounds, "shared memory " + *damage};
    if (!outcome.ok()) outcome.message = "block " + std::to_string(index) + ": " + outcome.message;
    return outcome;
}

inline Outcome run_grid(const Request& request, const std::function<void()>& body) {
    gridDim.x = static_cast<unsigned>(request.grid);
    blockDim.x = static_cast<unsigned>(request.threads);
    Schedule schedule(request.schedule);
    for (std::uint32_t index : schedule.order(gridDim.x)) {
        const Outcome outcome = run_block(index, request.shared_bytes, schedule, body);
        if (!outcome.ok()) return outcome;
    }
    for (std::size_t i = 0; i < request.slots.size(); i++)
        if (const auto damage = request.slots[i]->damage())
            return {Status::buffer_bounds, "buffer " + std::to_string(i) + " " + *damage};
    return {};
}

template <class... Parameter, std::size_t... Index>
Outcome launch(void (*kernel)(Parameter...), const Request& request, std::index_sequence<Index...>) {
    using Parameters = std::tuple<Parameter...>;
    static_assert((std::is_pointer_v<std::tuple_element_t<Index, Parameters>> && ...), "a kernel takes pointers, then first and end");
    const Outcome outcome = check(request, sizeof...(Index));
    if (!outcome.ok()) return outcome;
    return run_grid(request, [&] {
        kernel(reinterpret_cast<std::tuple_element_t<Index, Parameters>>(request.slots[Index]->data())..., request.first, request.end);
    });
}

// Answers requests until the input ends.
template <class... Parameter>
void serve(void (*kernel)(Parameter...)) {
    constexpr std::size_t count = sizeof...(Parameter);
    static_assert(count >= 2, "a kernel takes pointers, then first and end");
    using Parameters = std::tuple<Parameter...>;
    static_assert(sizeof(std::tuple_element_t<count - 2, Parameters>) == 8 && sizeof(std::tuple_element_t<count - 1, Parameters>) == 8,
                  "first and end are u64");
    while (const auto request = read_request())
        write_response(launch(kernel, *request, std::make_index_sequence<count - 2>()), request->slots);
}

}  // namespace rf_host
