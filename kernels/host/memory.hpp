// Memory that detects writes outside its bounds: by canaries on both sides, or by its exact size under
// AddressSanitizer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>

#include "asan.hpp"

namespace rf_host {

class Guarded {
   public:
    explicit Guarded(std::size_t size)
        : size_(size), block_(static_cast<unsigned char*>(::operator new(size + 2 * zone, alignment))) {
        std::fill(block_, block_ + zone, canary);
        std::fill(data() + size, data() + size + zone, canary);
    }
    ~Guarded() { ::operator delete(block_, alignment); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    unsigned char* data() const { return block_ + zone; }
    std::size_t size() const { return size_; }

    // Describes the first byte found overwritten outside the bounds, or returns nothing if there is none.
    std::optional<std::string> damage() const {
        const auto damaged = [](unsigned char byte) { return byte != canary; };
        const unsigned char* end = data() + size_;
        const unsigned char* hit = std::find_if(end, end + zone, damaged);
        if (hit == end + zone) {
            hit = std::find_if(block_ + 0, block_ + zone, damaged);
            if (hit == block_ + zone) return std::nullopt;
        }
        return "was written out of bounds, at byte " + std::to_string(hit - data()) + " of " + std::to_string(size_);
    }

   private:
    static constexpr std::align_val_t alignment{16};
    static constexpr std::size_t zone = asan::enabled ? 0 : 1024;
    static constexpr unsigned char canary = 0xc3;

    std::size_t size_;
    unsigned char* block_;
};

}  // namespace rf_host
