// Requests and responses of the runner, as bytes on standard input and output; runner.cpp describes the format.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory.hpp"
#include "outcome.hpp"

namespace rf_host {

// The memory of one pointer argument of the kernel; null if the request named an invalid alias.
using Slot = std::shared_ptr<Guarded>;

struct Request {
    std::uint64_t grid, threads, cluster, shared_bytes, schedule, first, end;
    std::vector<std::uint64_t> numbers;
    std::vector<Slot> slots;
    std::vector<std::uint64_t> starts;  // for each slot, the byte offset of its pointer
    std::vector<std::vector<Slot>> lists;  // for each slot, the tables that its pointers refer to
};

constexpr std::uint64_t no_alias = UINT64_MAX, list = UINT64_MAX - 1;

[[noreturn]] inline void die(const char* why) {
    std::fprintf(stderr, "runner: %s\n", why);
    std::exit(2);
}

inline void read_bytes(void* bytes, std::size_t size) {
    if (size != 0 && std::fread(bytes, 1, size, stdin) != size) die("the request ends too early");
}

inline std::uint64_t read_u64() {
    unsigned char bytes[8];
    read_bytes(bytes, sizeof bytes);
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | bytes[i];
    return value;
}

inline Slot read_memory(std::uint64_t size) {
    auto slot = std::make_shared<Guarded>(size);
    read_bytes(slot->data(), size);
    return slot;
}

// Reads the description of one buffer and appends it to the request. An alias shares the memory of an earlier buffer of
// the same length, so it has no contents. A list has tables instead.
inline void read_slot(Request& request) {
    request.starts.push_back(read_u64());
    const std::uint64_t alias = read_u64();
    const std::uint64_t size = read_u64();
    std::vector<Slot>& slots = request.slots;
    std::vector<Slot>& tables = request.lists.emplace_back();
    if (alias == list) {
        std::vector<const unsigned char*> pointers;
        for (std::uint64_t i = 0; i < size; i++) pointers.push_back(tables.emplace_back(read_memory(read_u64()))->data());
        slots.push_back(std::make_shared<Guarded>(size * sizeof(void*)));
        if (size != 0) std::memcpy(slots.back()->data(), pointers.data(), size * sizeof(void*));
    } else if (alias != no_alias) {
        const bool valid = alias < slots.size() && slots[alias] && slots[alias]->size() == size;
        slots.push_back(valid ? slots[alias] : nullptr);
    } else {
        slots.push_back(read_memory(size));
    }
}

// Reads the next request; returns nothing at the end of the input.
inline std::optional<Request> read_request() {
    const int next = std::getc(stdin);
    if (next == EOF) return std::nullopt;
    std::ungetc(next, stdin);
    Request request;
    for (std::uint64_t* field : {&request.grid, &request.threads, &request.cluster, &request.shared_bytes, &request.schedule, &request.first, &request.end})
        *field = read_u64();
    for (std::uint64_t count = read_u64(); count > 0; count--) request.numbers.push_back(read_u64());
    for (std::uint64_t count = read_u64(); count > 0; count--) read_slot(request);
    return request;
}

inline void write_bytes(const void* bytes, std::size_t size) {
    if (size != 0 && std::fwrite(bytes, 1, size, stdout) != size) die("the response cannot be written");
}

inline void write_u64(std::uint64_t value) {
    unsigned char bytes[8];
    for (unsigned char& byte : bytes) {
        byte = static_cast<unsigned char>(value);
        value >>= 8;
    }
    write_bytes(bytes, sizeof bytes);
}

inline void write_response(const Outcome& outcome, const Request& request) {
    write_u64(static_cast<std::uint64_t>(outcome.status));
    write_u64(outcome.message.size());
    write_bytes(outcome.message.data(), outcome.message.size());
    write_u64(request.slots.size());
    for (std::size_t i = 0; i < request.slots.size(); i++) {
        const Slot& slot = request.slots[i];
        const bool is_list = !request.lists[i].empty();
        write_u64(slot && !is_list ? slot->size() : 0);
        if (slot && !is_list) write_bytes(slot->data(), slot->size());
    }
    if (std::fflush(stdout) != 0) die("the response cannot be written");
}

}  // namespace rf_host
