// Rounds of a repetition, and copies of items.
#pragma once
#include "word.cuh"

namespace rf {

// in: a round   out: its attempts for each item, at least 1
RF_FN u32 attempts_each(const u32* round) { return round[1] > 0 ? round[1] : 1; }

// Copies words by a warp, as vectors if their number is a multiple of 4. Both addresses are then multiples of 16.
RF_FN void copy_by_warp(const u32* from, u32* to, u32 words) {
    constexpr u32 ahead = 4;
    const u32 lane = threadIdx.x % 32;
    if (words % 4 != 0) {
        RF_LOOP
        for (u32 word = lane; word < words; word += 32) to[word] = from[word];
        return;
    }
    RF_LOOP
    for (u32 at = lane; at < words / 4; at += 32 * ahead) {
        u32x4 held[ahead];
        RF_UNROLL
        for (u32 i = 0; i < ahead; i++)
            if (at + 32 * i < words / 4) held[i] = ((const u32x4*)from)[at + 32 * i];
        RF_UNROLL
        for (u32 i = 0; i < ahead; i++)
            if (at + 32 * i < words / 4) ((u32x4*)to)[at + 32 * i] = held[i];
    }
}

}  // namespace rf
