// Asynchronous copies from device to shared memory (cp.async).
#pragma once
#include "word.cuh"

namespace rf {

// Starts an asynchronous copy of Bytes (4, 8 or 16) bytes from device to shared memory. Both addresses must be
// multiples of Bytes. The thread may read the copied bytes after `await_copies`. If Cached, the L1 cache keeps the sector
// of 32 bytes, of which the thread may want the other half. (Before sm_80 the copy is synchronous.)
template <u32 Bytes, bool Cached = Bytes != 16>
RF_FN void copy_ahead(void* shared, const void* device) {
#if RF_PTX && __CUDA_ARCH__ >= 800
    const u32 to = (u32)__cvta_generic_to_shared(shared);
    if constexpr (!Cached) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(device) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(to), "l"(device), "n"(Bytes) : "memory");
#elif defined(__CUDACC__)
    RF_UNROLL
    for (u32 i = 0; i < Bytes / 4; i++) ((u32*)shared)[i] = ((const u32*)device)[i];
#else
    rf_host::copy_later(shared, device, Bytes);
#endif
}
// Loads 16 bytes from shared memory, even if the thread has loaded them before: the compiler would otherwise keep them in
// registers.
RF_FN u32x4 load_again(const u32x4* shared) {
#if RF_PTX
    u32x4 r;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "r"((u32)__cvta_generic_to_shared(shared))
                 : "memory");
    return r;
#else
    return *shared;
#endif
}
// Waits until the copies that this thread started with `copy_ahead` are complete.
RF_FN void await_copies() {
#if RF_PTX && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#elif !defined(__CUDACC__)
    rf_host::await_copies();
#endif
}

}  // namespace rf
