// CUDA's arithmetic intrinsics, in portable C++. Every kernel compiles this file, so it avoids <cmath>, which alone
// would be half of the compile time.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
    const unsigned long long high = __brev(static_cast<unsigned>(x));
    return high << 32 | __brev(static_cast<unsigned>(x >> 32));
}

// Byte i of the result is the byte of y:x whose index is the lower three bits of nibble i of the selector.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned from = selector >> 4 * i & 7;
        result |= static_cast<unsigned>(bytes >> 8 * from & 0xff) << 8 * i;
    }
    return result;
}

// __funnelshift_l returns the upper word of high:low << (shift mod 32), and __funnelshift_r the lower word of
// high:low >> (shift mod 32).
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31));
}

inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(x) * y >> 32);
}
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<std::int64_t>(x) * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    __extension__ using Product = unsigned __int128;
    return static_cast<unsigned long long>(static_cast<Product>(x) * y >> 64);
}
inline long long __mul64hi(long long x, long long y) {
    __extension__ using Product = __int128;
    return static_cast<long long>(static_cast<Product>(x) * y >> 64);
}

// Each function rounds once, to nearest even. Compile without contraction (-ffp-contract=off).
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
inline long long __double2ll_rn(double x) { return __builtin_llrint(x); }

inline long long __double_as_longlong(double x) {
    long long bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline double __longlong_as_double(long long bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// Minimum and maximum of two integers of any types, after C++'s usual conversions.
template <class A, class B, class T = decltype(A() + B()), class = std::enable_if_t<std::is_integral_v<T>>>
constexpr T min(A a, B b) {
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B, class T = decltype(A() + B()), class = std::enable_if_t<std::is_integral_v<T>>>
constexpr T max(A a, B b) {
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
