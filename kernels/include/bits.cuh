// Packing of numbers of D bits (ByteEncode and ByteDecode of FIPS 203, SimpleBitPack of FIPS 204). A thread packs or
// unpacks a unit of 16 adjacent coefficients, which fills whole words for any D.
#pragma once
#include "word.cuh"

namespace rf {

constexpr u32 unit = 16;

// Words of a packed unit, D bits per coefficient: 32-bit words if D is even, else 16-bit words.
template <u32 D>
struct Bits {
    template <bool Even, class Yes, class No>
    struct Choose {
        using Type = Yes;
    };
    template <class Yes, class No>
    struct Choose<false, Yes, No> {
        using Type = No;
    };
    using Part = typename Choose<D % 2 == 0, u32, u16>::Type;
    static constexpr u32 width = 8 * sizeof(Part), parts = unit * D / width;
};

// Unpacks a thread's unit of a polynomial in memory, D bits per coefficient. Calls put(c, value) for coefficient c.
template <u32 D, class Put>
RF_FN void unpack(const u8* poly, u32 thread, Put put) {
    using B = Bits<D>;
    const auto* from = (const typename B::Part*)poly + thread * B::parts;
    u32 words[B::parts + 1];
    words[B::parts] = 0;
    RF_UNROLL
    for (u32 i = 0; i < B::parts; i++) words[i] = from[i];
    RF_UNROLL
    for (u32 c = 0; c < unit; c++) {
        u32 i = c * D / B::width, by = c * D % B::width;
        u32 bits = words[i] >> by;
        if (by + D > B::width) bits |= words[i + 1] << (B::width - by);
        put(c, bits & ((1u << D) - 1));
    }
}

// Packs a thread's unit of coefficients get(c), D bits each. Calls put(byte offset, part) for each word of the packed
// unit (see Bits).
template <u32 D, class Get, class Put>
RF_FN void pack(u32 thread, Get get, Put put) {
    using B = Bits<D>;
    u32 words[B::parts + 1];
    RF_UNROLL
    for (u32 i = 0; i <= B::parts; i++) words[i] = 0;
    RF_UNROLL
    for (u32 c = 0; c < unit; c++) {
        u32 i = c * D / B::width, by = c * D % B::width, value = get(c);
        words[i] |= value << by;
        if (by + D > B::width) words[i + 1] |= value >> (B::width - by);
    }
    RF_UNROLL
    for (u32 i = 0; i < B::parts; i++)
        put((thread * B::parts + i) * (B::width / 8), (typename B::Part)words[i]);
}

}  // namespace rf
