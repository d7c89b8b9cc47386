// CUDA's operations across the lanes of a warp: barrier, votes, shuffles.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "meeting.hpp"

inline void __syncwarp(unsigned mask = 0xffffffff, rf_host::Site site = rf_host::Site::here()) {
    rf_host::meet_warp("__syncwarp", site, mask, 0, rf_host::lane());
}

namespace rf_host {

inline std::uint32_t vote(const char* what, Site site, std::uint32_t mask, bool yes) {
    return meet_warp(what, site, mask, yes, lane()).ballot;
}

}  // namespace rf_host

inline unsigned __ballot_sync(unsigned mask, int predicate, rf_host::Site site = rf_host::Site::here()) {
    return rf_host::vote("__ballot_sync", site, mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate, rf_host::Site site = rf_host::Site::here()) {
    return rf_host::vote("__any_sync", site, mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate, rf_host::Site site = rf_host::Site::here()) {
    return rf_host::vote("__all_sync", site, mask, predicate != 0) == mask;
}

namespace rf_host {

// The segment of `width` lanes of a warp that contains the calling lane.
struct Segment {
    std::uint32_t lane, first, last;

    Segment(const char* what, Site site, int width) : lane(rf_host::lane()) {
        if (width < 1 || width > warpSize || (width & (width - 1)) != 0) refuse_width(what, site, width);
        const std::uint32_t inside = static_cast<std::uint32_t>(width) - 1;
        first = lane & ~inside;
        last = lane | inside;
    }
};

// Shuffles words of 32 and 64 bits. Shorter integers are promoted to int first, as CUDA's overloads do.
template <class T>
T shuffle(const char* what, Site site, std::uint32_t mask, T value, std::uint32_t source) {
    static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "shuffles need words of 32 or 64 bits");
    if ((mask >> source & 1) == 0) refuse_source(what, site, mask, source);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = meet_warp(what, site, mask, bits, source).value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace rf_host

// Reads lane `lane` of the caller's segment of `width` lanes, counted from the segment's start.
template <class T>
auto __shfl_sync(unsigned mask, T value, int lane, int width = warpSize, rf_host::Site site = rf_host::Site::here()) {
    const rf_host::Segment segment("__shfl_sync", site, width);
    const unsigned source = segment.first | (static_cast<unsigned>(lane) & (segment.last - segment.first));
    return rf_host::shuffle("__shfl_sync", site, mask, +value, source);
}

// Reads the lane whose number differs from the caller's in the bits of `flip`. Returns the caller's value if that lane
// lies after the caller's segment of `width` lanes (lanes of earlier segments can be read).
template <class T>
auto __shfl_xor_sync(unsigned mask, T value, int flip, int width = warpSize, rf_host::Site site = rf_host::Site::here()) {
    const rf_host::Segment segment("__shfl_xor_sync", site, width);
    const unsigned source = segment.lane ^ (static_cast<unsigned>(flip) & 31);
    return rf_host::shuffle("__shfl_xor_sync", site, mask, +value, source <= segment.last ? source : segment.lane);
}

// Reads the lane `delta` before the caller; if it is outside the segment of `width` lanes, returns the caller's value.
template <class T>
auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, rf_host::Site site = rf_host::Site::here()) {
    const rf_host::Segment segment("__shfl_up_sync", site, width);
    const bool inside = (delta & 31) <= segment.lane - segment.first;
    return rf_host::shuffle("__shfl_up_sync", site, mask, +value, inside ? segment.lane - (delta & 31) : segment.lane);
}

// Reads the lane `delta` after the caller; if it is outside the segment of `width` lanes, returns the caller's value.
template <class T>
auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, rf_host::Site site = rf_host::Site::here()) {
    const rf_host::Segment segment("__shfl_down_sync", site, width);
    const bool inside = (delta & 31) <= segment.last - segment.lane;
    return rf_host::shuffle("__shfl_down_sync", site, mask, +value, inside ? segment.lane + (delta & 31) : segment.lane);
}
