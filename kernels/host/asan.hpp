// The shim's calls to AddressSanitizer. Without the sanitizer, these functions do nothing.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define RF_HOST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RF_HOST_ASAN 1
#endif
#endif

#if defined(RF_HOST_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

// Wide red zones, so that an index past the end does not land in an adjacent buffer. Leaks of a test process do not
// matter.
extern "C" inline __attribute__((used, visibility("default"))) const char* __asan_default_options() {
    return "redzone=1024:detect_leaks=0";
}
#endif

namespace rf_host::asan {

#if defined(RF_HOST_ASAN)

constexpr bool enabled = true;

// Announces a switch to the stack [bottom, bottom + bytes). Saves AddressSanitizer's fake stack of the old context to
// *fake; `fake` is null if the old context never resumes.
inline void leave(void** fake, const void* bottom, std::size_t bytes) {
    __sanitizer_start_switch_fiber(fake, bottom, bytes);
}

// Ends a switch and returns the bounds of the stack that was left.
inline void arrive(void* fake, const void** bottom, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(fake, bottom, bytes);
}

// Clears AddressSanitizer's marks on a stack whose functions will never return.
inline void forget(const void* bottom, std::size_t bytes) { __asan_unpoison_memory_region(bottom, bytes); }

#else

constexpr bool enabled = false;

inline void leave(void**, const void*, std::size_t) {}
inline void arrive(void*, const void**, std::size_t*) {}
inline void forget(const void*, std::size_t) {}

#endif

}  // namespace rf_host::asan
