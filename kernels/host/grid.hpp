// CUDA's built-in index variables, for the running thread and its grid, and the address of the block's shared memory.
#pragma once

struct uint3 {
    unsigned x, y, z;
};

inline uint3 threadIdx{0, 0, 0};
inline uint3 blockIdx{0, 0, 0};
inline uint3 blockDim{1, 1, 1};
inline uint3 gridDim{1, 1, 1};

inline constexpr int warpSize = 32;

namespace rf_host {

inline unsigned char* shared_memory = nullptr;

}  // namespace rf_host
