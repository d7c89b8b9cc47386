// CUDA's execution model for a C++17 compiler: with this included first, a kernel's CUDA source compiles and runs on
// the CPU.
//
// grid.hpp has the index variables, meeting.hpp the operations under barriers, warp.hpp the operations across lanes,
// arithmetic.hpp the arithmetic. Every kernel is compiled with all of this, so it includes few other headers. Compile
// with -ffp-contract=off and -fno-strict-aliasing. Static shared memory, __activemask and thread fences are missing: a
// kernel that uses them fails to compile, instead of running with partial emulation.
#pragma once

#include <type_traits>

#include "arithmetic.hpp"
#include "grid.hpp"
#include "meeting.hpp"
#include "warp.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

// Declares `unsigned char* name`: the block's dynamic shared memory, aligned to 16 bytes.
#define RF_SHARED(name) unsigned char* const name = rf_host::shared_memory

inline void __cluster_barrier_arrive(rf_host::Site site = rf_host::Site::here()) { rf_host::arrive_at_cluster(site); }
inline void __cluster_barrier_arrive_relaxed(rf_host::Site site = rf_host::Site::here()) { rf_host::arrive_at_cluster(site); }
inline void __cluster_barrier_wait(rf_host::Site site = rf_host::Site::here()) { rf_host::wait_for_cluster(site); }
inline void* __cluster_map_shared_rank(void* address, unsigned block) { return rf_host::in_block(address, block); }

inline void __syncthreads(rf_host::Site site = rf_host::Site::here()) { rf_host::meet_block("__syncthreads", site); }

template <class T>
T __ldg(const T* address) {
    return *address;
}

namespace rf_host {

// The type of an operand of an atomic. It is not deduced but taken from the address, so that literals convert as with
// CUDA's overloads.
template <class T>
using Operand = std::common_type_t<T>;

// Replaces *address by change(*address) and returns the old value. It is atomic, because threads run one at a time.
template <class T, class Change>
T update(T* address, Change change) {
    static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "atomics need words of 32 or 64 bits");
    const T old = *address;
    *address = change(old);
    return old;
}

}  // namespace rf_host

template <class T>
T atomicAdd(T* address, rf_host::Operand<T> value) {
    return rf_host::update(address, [value](T old) {
        if constexpr (std::is_integral_v<T>) __builtin_add_overflow(old, value, &old);  // signed integers wrap, too
        else old += value;
        return old;
    });
}
template <class T>
T atomicOr(T* address, rf_host::Operand<T> value) {
    return rf_host::update(address, [value](T old) { return old | value; });
}
template <class T>
T atomicMax(T* address, rf_host::Operand<T> value) {
    return rf_host::update(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
T atomicExch(T* address, rf_host::Operand<T> value) {
    return rf_host::update(address, [value](T) { return value; });
}
template <class T>
T atomicCAS(T* address, rf_host::Operand<T> expected, rf_host::Operand<T> value) {
    return rf_host::update(address, [expected, value](T old) { return old == expected ? value : old; });
}
