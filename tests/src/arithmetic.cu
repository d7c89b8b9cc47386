// Test kernel: every operation of one modulus type on pairs of words, for comparison with big integers.
//
// The prelude, in namespace rf, gives
//     using M = Mod16 | Mod31 | Mod32 | Mod50 | Mod61 | Mod64 | Mod64Friendly | Mod64Full | Goldilocks | Mod256 | Mod255<…>;
//     RF_CONST M modulus() { return M{…}; }
//     constexpr u32 bound = …;     lazy types: the B tried beyond 4 (B q < 2^word; at least 4); strict types: 1
//     constexpr u32 products = …;  products of two residues below 2q that one accumulator holds, at least 1, or 0 if
//                                  only one product of canonical residues fits (Mod16 with a large q); strict types: 1
// What they allow for a modulus holds for all smaller ones.
// Entry points, one thread an item, first <= item < end:
//     arithmetic(a, b, out, first, end)                  the modulus is a constant
//     arithmetic_argument(m, a, b, out, first, end)      the modulus is read from *m
//     arithmetic_words(a, b, out, first, end)            word.cuh alone; a, b of u64
// a and b hold any words x, y (strict types of 256 bits: words below q). Item i writes out[K i] … out[K i + K - 1].
//
// Lazy types, K = 25. x_B = x mod B q, y_B likewise; y' = y mod (2q + 1); w = y_1. A range as in the headers.
//      0 twiddle(w).w             1 twiddle(w).quotient      2 mul(x, w)               3 mul(~x, w)
//      4 reduce<2>(x_2)           5 reduce<4>(x_4)           6 reduce<bound>(x_bound)  7 canonical<1>(x_1)
//      8 canonical<2>(x_2)        9 canonical<4>(x_4)       10 canonical<bound>(..)   11 add(x_2, y_2)
//     12 sub<1>(x_2, y_1)        13 sub<2>(x_2, y')         14 negate<2>(y')
//     15 wide_reduce of u v                                 (u, v = x_2, y_2, or x_1, y_1 if products is 0)
//     16 wide_reduce of u v + u u + v v                     (as 15 if products < 3)
//     17 wide_fold of u v        18 mul_plain(x_1, y_1)
//     19 mul_montgomery(x_1, y_1)    20 to_montgomery(x)      21 from_montgomery(x)      (Mod16: 0)
//     22 reduce<3>(x mod 3q)     23 canonical<3>(x mod 3q)  24 reduce_any(x)
// Strict types, K = 12. x_1, y_1 as above (256 bits: x, y).
//      0 twiddle(y_1).w           1 mul(x_1, twiddle(y_1))   2 add(x_1, y_1)           3 sub<1>(x_1, y_1)
//      4 negate<1>(y_1)           5 wide_reduce of x_1 y_1 + x_1 x_1                  6 mul_plain(x_1, y_1)
//      7 mul_montgomery(x_1, y_1) 8 to_montgomery(x)         9 from_montgomery(x)      (Goldilocks: 0)
//     10 reduce_any(x)           11 reduce_any(~x)
// Mod31, K = 20. x_B, y_B, y' as for lazy types; w = y_1.
//      0 twiddle(w).w             1 twiddle(w).quotient      2 mul(x, w)               3 reduce<2>(x_2)
//      4 canonical<2>(x_2)        5 add(x_1, y_1)            6 sub<1>(x_1, y_1)        7 negate<2>(y')
//      8 wide_reduce of u v (u, v = x_2, y_2)                9 of u v + u u + v v     10 wide_fold of u v
//     11 wide_reduce of u u + nine times u v                12 mul_plain(x_1, y_1)
//     13 mul_montgomery(x_1, y_1)    14 to_montgomery(x)      15 from_montgomery(x)
//     16 reduce_any(x)           17 canonical<1>(reduce_any(x))                       18 reduce<1>(x_1)
//     19 negate<1>(y_1)
// Mod255, K = 15. x, y below 2q; x_1, y_1 as above; w = y_1.
//      0 twiddle(w).w             1 twiddle(w).quotient      2 mul(x, w)               3 add(x, y)
//      4 sub<1>(x, y)             5 negate<1>(y)             6 canonical<1>(x)         7 reduce<1>(x)
//      8 mul_montgomery(x_1, y_1) 9 to_montgomery(x_1)      10 from_montgomery(x_1)
//     11 wide_mul(x, y)          12 wide_mad(x, x, y)      13 reduce_any(x)          14 reduce_any(~x)
// Mod50, K = 18, words as they are: bits of doubles. x_B = (x mod (2 B q + 1)) - B q for any bits x, y_B likewise;
// x_1 = (x mod (2q - 1)) - (q - 1), y_1 likewise; h = bound / 2.
//      0 twiddle(y_1).w           1 twiddle(y_1).quotient    2 mul(x_bound, w)         3 mul(x_2, w)
//      4 reduce<1>(x_1)           5 reduce<2>(x_2)           6 reduce<bound>(x_bound)  7 canonical<1>(x_1)
//      8 canonical<2>(x_2)        9 canonical<bound>(..)    10 add(x_h, y_h)          11 sub<h>(x_h, y_h)
//     12 negate<bound>(y_bound)  13 wide_reduce of x_1 y_1  14 wide_reduce of x_1 y_1 + x_1 x_1 + y_1 y_1
//     15 mul_plain(x_1, y_1)     16 x_bound, canonical, to memory: to_integer, as an integer
//     17 to_double(x mod 2^52)
// Words, K = 59. q = 2^64 - 2^32 + 1.
//      0 mul_hi(x, y)             1 mul_hi_above(x, y)       2 mad_lo(x, y, dot_lo(x, y, y, y))
//      3, 4 mul_wide(x, y)        5, 6 mad_wide(x, y, {y, x})
//      7 mul_hi of the low halves, and of the high halves in its upper half
//      8 mad_wide(low x, low y, x >> 31)                     9 sub_once(x mod 2m, m), m = y >> 1, or 1 if that is 0
//     10 select(low x & 1, x, y), 11 sub_once and select of low halves
//     12 … 39 the chains on four limbs (x, y): see chains()  40 xor3(x, y, x rotated by 1)
//     41 dot_friendly(x, y, x ^ y, low y)
//     42 sub_folded(x, y)       43 add_folded(x, y mod q)   44 reduce_folded({x, y mod (q - 1)})
//     45 mul_hi_middle(x, y)
//     two words each, of 64 and 32 bits, with x' = {x, low y}, y' = {y, high x}:
//     46 add_signed(x', y')     48 sub_signed(x', y')       50 reduce_signed({x, y mod (q - 1)})
//     52 fold_signed(x')        54 fold_signed_32({x - x mod 2, low y})              56 fold_signed_64(x')
//     58 canonical_folded({x, low y, but at least 1})
#include "goldilocks.cuh"
#include "mod16.cuh"
#include "mod31.cuh"
#include "mod32.cuh"
#include "mod50.cuh"
#include "mod61.cuh"
#include "mod64.cuh"
#include "mod64_friendly.cuh"
#include "mod255.cuh"
#include "mod256.cuh"
#include "prelude.cuh"

namespace rf {

// ---- what only some types have ----

template <class T>
constexpr bool has_montgomery = true;
template <>
constexpr bool has_montgomery<Mod16> = false;
template <>
constexpr bool has_montgomery<Goldilocks> = false;

template <class T>
constexpr bool is_doubles = false;
template <>
constexpr bool is_doubles<Mod50> = true;

template <class T>
constexpr bool is_tight = false;
template <>
constexpr bool is_tight<Mod31> = true;

template <class T>
constexpr bool is_shoup256 = false;
template <u32 Digits>
constexpr bool is_shoup256<Mod255<Digits>> = true;

template <class T>
RF_FN void montgomery(const T& m, typename T::Word x, typename T::Word x1, typename T::Word y1, typename T::Word* out) {
    if constexpr (has_montgomery<T>) {
        out[0] = m.mul_montgomery(x1, y1);
        out[1] = m.to_montgomery(x);
        out[2] = m.from_montgomery(x);
    } else {
        out[0] = out[1] = out[2] = 0;
    }
}

template <class T>
RF_FN typename T::Word residue(const T& m, typename T::Word x) {
    return x % m.q;
}
template <bool Full>
RF_FN u256 residue(const Mod256Of<Full>&, u256 x) {
    return x;
}

RF_FN u64 inverted(u64 x) { return ~x; }
RF_FN u256 inverted(u256 x) {
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) x.limb[i] = ~x.limb[i];
    return x;
}

// ---- all operations of a type ----

template <class T>
RF_FN void lazy_operations(const T& m, typename T::Word x, typename T::Word y, typename T::Word* out) {
    using Word = typename T::Word;
    const Word q = m.q;
    const Word x1 = x % q, y1 = y % q, x2 = x % (2 * q), y2 = y % (2 * q), y3 = y % (2 * q + 1);
    const Word x3 = x % (3 * q), x4 = x % (4 * q), xb = x % (bound * q);
    const typename T::Twiddle w = m.twiddle(y1);
    out[0] = w.w;
    out[1] = w.quotient;
    out[2] = m.mul(x, w);
    out[3] = m.mul(~x, w);
    out[4] = m.template reduce<2>(x2);
    out[5] = m.template reduce<4>(x4);
    out[6] = m.template reduce<bound>(xb);
    out[7] = m.template canonical<1>(x1);
    out[8] = m.template canonical<2>(x2);
    out[9] = m.template canonical<4>(x4);
    out[10] = m.template canonical<bound>(xb);
    out[11] = m.add(x2, y2);
    out[12] = m.template sub<1>(x2, y1);
    out[13] = m.template sub<2>(x2, y3);
    out[14] = m.template negate<2>(y3);
    const Word u = products == 0 ? x1 : x2, v = products == 0 ? y1 : y2;
    constexpr u32 unit = products == 0 ? 1 : 4;
    typename T::Wide acc = m.wide_mul(u, v);
    out[15] = m.template wide_reduce<unit>(acc);
    out[17] = m.wide_fold(acc);
    if constexpr (products >= 3) {
        acc = m.wide_mad(acc, u, u);
        acc = m.wide_mad(acc, v, v);
        out[16] = m.template wide_reduce<12>(acc);
    } else {
        out[16] = out[15];
    }
    out[18] = m.mul_plain(x1, y1);
    montgomery(m, x, x1, y1, out + 19);
    out[22] = m.template reduce<3>(x3);
    out[23] = m.template canonical<3>(x3);
    out[24] = m.reduce_any(x);
}

RF_FN void tight_operations(const Mod31& m, u32 x, u32 y, u32* out) {
    const u32 q = m.q, x1 = x % q, y1 = y % q, u = x % (2 * q), v = y % (2 * q);
    const Mod31::Twiddle w = m.twiddle(y1);
    out[0] = w.w;
    out[1] = w.quotient;
    out[2] = m.mul(x, w);
    out[3] = m.reduce<2>(u);
    out[4] = m.canonical<2>(u);
    out[5] = m.add(x1, y1);
    out[6] = m.sub<1>(x1, y1);
    out[7] = m.negate<2>(y % (2 * q + 1));
    Mod31::Wide acc = m.wide_mul(u, v);
    out[8] = m.wide_reduce<1>(acc);
    out[9] = m.wide_reduce<12>(m.wide_mad(m.wide_mad(acc, u, u), v, v));
    out[10] = m.wide_fold(acc);
    acc = m.wide_mul(u, u);
    for (u32 i = 0; i < 9; i++) acc = m.wide_mad(acc, u, v);
    out[11] = m.wide_reduce<1>(acc);
    out[12] = m.mul_plain(x1, y1);
    montgomery(m, x, x1, y1, out + 13);
    out[16] = m.reduce_any(x);
    out[17] = m.canonical<1>(out[16]);
    out[18] = m.reduce<1>(x1);
    out[19] = m.negate<1>(y1);
}

template <class T>
RF_FN void strict_operations(const T& m, typename T::Word x, typename T::Word y, typename T::Word* out) {
    const typename T::Word x1 = residue(m, x), y1 = residue(m, y);
    const typename T::Twiddle w = m.twiddle(y1);
    out[0] = w.w;
    out[1] = m.mul(x1, w);
    out[2] = m.add(x1, y1);
    out[3] = m.template sub<1>(x1, y1);
    out[4] = m.template negate<1>(y1);
    out[5] = m.template wide_reduce<2>(m.wide_mad(m.wide_mul(x1, y1), x1, x1));
    out[6] = m.mul_plain(x1, y1);
    montgomery(m, x, x1, y1, out + 7);
    out[10] = m.reduce_any(x);
    out[11] = m.reduce_any(inverted(x));
}

template <class T>
RF_FN void shoup_operations(const T& m, u256 x, u256 y, u256* out) {
    const u256 x1 = m.template canonical<1>(x), y1 = m.template canonical<1>(y);
    const typename T::Twiddle w = m.twiddle(y1);
    out[0] = w.w;
    out[1] = w.quotient;
    out[2] = m.mul(x, w);
    out[3] = m.add(x, y);
    out[4] = m.template sub<1>(x, y);
    out[5] = m.template negate<1>(y);
    out[6] = x1;
    out[7] = m.template reduce<1>(x);
    montgomery(m, x1, x1, y1, out + 8);
    out[11] = m.wide_mul(x, y);
    out[12] = m.wide_mad(x, x, y);
    out[13] = m.reduce_any(x);
    out[14] = m.reduce_any(inverted(x));
}

// in: any bits   out: an integer, |.| <= limit
RF_FN double centred(double bits, double limit) {
    u64 most = to_integer(limit);
    return (double)((i64)(bits_of(bits) % (2 * most + 1)) - (i64)most);
}

RF_FN void double_operations(const Mod50& m, double x, double y, double* out) {
    constexpr u32 half = bound / 2;
    const double q = m.q;
    const double x1 = centred(x, q - 1), y1 = centred(y, q - 1), x2 = centred(x, 2 * q);
    const double xh = centred(x, half * q), yh = centred(y, half * q);
    const double xb = centred(x, bound * q), yb = centred(y, bound * q);
    const Mod50::Twiddle w = m.twiddle(y1);
    out[0] = w.w;
    out[1] = w.quotient;
    out[2] = m.mul(xb, w);
    out[3] = m.mul(x2, w);
    out[4] = m.reduce<1>(x1);
    out[5] = m.reduce<2>(x2);
    out[6] = m.reduce<bound>(xb);
    out[7] = m.canonical<1>(x1);
    out[8] = m.canonical<2>(x2);
    out[9] = m.canonical<bound>(xb);
    out[10] = m.add(xh, yh);
    out[11] = m.sub<half>(xh, yh);
    out[12] = m.negate<bound>(yb);
    out[13] = m.wide_reduce<1>(m.wide_mul(x1, y1));
    out[14] = m.wide_reduce<3>(m.wide_mad(m.wide_mad(m.wide_mul(x1, y1), x1, x1), y1, y1));
    out[15] = m.mul_plain(x1, y1);
    out[16] = double_of(to_integer(m.canonical<bound>(xb)));
    out[17] = to_double(bits_of(x) & 0x000fffffffffffffull);
}

template <class T>
RF_FN void operations(const T& m, const typename T::Word* a, const typename T::Word* b, typename T::Word* out,
                      u64 item) {
    if constexpr (is_doubles<T>) double_operations(m, a[item], b[item], out + 18 * item);
    else if constexpr (is_tight<T>) tight_operations(m, a[item], b[item], out + 20 * item);
    else if constexpr (is_shoup256<T>) shoup_operations(m, a[item], b[item], out + 15 * item);
    else if constexpr (T::lazy) lazy_operations(m, a[item], b[item], out + 25 * item);
    else strict_operations(m, a[item], b[item], out + 12 * item);
}

// On l = (low x, high x, low y, high y) and r = (low y, high y, low x, high x), two limbs an output word:
//      0, 1, 2    l + r, carry                               3, 4, 5    l - r, borrow (0 or 2^32 - 1)
//      6, 7       select_limbs of that borrow, l, r          8, 9       t = row_mul(l, low y)
//     10, 11, 12  row_mad(t, l, high y), over from 5        13, 14, 15  row_mad(t, r, high x), same over
//     16, 17, 18  row_mad_top(t, l, low x), top from high x, same over; (top, over)
//     19, 20, 21  row_shift(other from low y, t, r, high x), over from 1; (other, over)
//     22, 23, 24  row_mad_top(s, l, high y), s and top all ones, same over; (top, over)
//     25, 26, 27  row_shift(other, s, l, high x), other and over all ones; (other, over)
RF_FN void chains(u64 x, u64 y, u64* out) {
    u32 l[4] = {low(x), high(x), low(y), high(y)}, r[4] = {low(y), high(y), low(x), high(x)}, t[4];
    u32 flag = add_limbs<4>(t, l, r);
    out[0] = join(t[0], t[1]), out[1] = join(t[2], t[3]), out[2] = flag;
    flag = sub_limbs<4>(t, l, r);
    out[3] = join(t[0], t[1]), out[4] = join(t[2], t[3]), out[5] = flag;
    select_limbs<4>(t, flag, l, r);
    out[6] = join(t[0], t[1]), out[7] = join(t[2], t[3]);
    row_mul<4>(t, l, low(y));
    out[8] = join(t[0], t[1]), out[9] = join(t[2], t[3]);
    flag = 5;
    row_mad<4>(t, l, high(y), flag);
    out[10] = join(t[0], t[1]), out[11] = join(t[2], t[3]), out[12] = flag;
    row_mad<4>(t, r, high(x), flag);
    out[13] = join(t[0], t[1]), out[14] = join(t[2], t[3]), out[15] = flag;
    u32 top = high(x);
    row_mad_top<4>(t, l, low(x), top, flag);
    out[16] = join(t[0], t[1]), out[17] = join(t[2], t[3]), out[18] = join(top, flag);
    u32 other = low(y);
    flag = 1;
    row_shift<4>(other, t, r, high(x), flag);
    out[19] = join(t[0], t[1]), out[20] = join(t[2], t[3]), out[21] = join(other, flag);
    top = 0xffffffffu;
    u32 ones[4] = {top, top, top, top};
    row_mad_top<4>(ones, l, high(y), top, flag);
    out[22] = join(ones[0], ones[1]), out[23] = join(ones[2], ones[3]), out[24] = join(top, flag);
    other = 0xffffffffu;
    flag = 0xffffffffu;
    row_shift<4>(other, ones, l, high(x), flag);
    out[25] = join(ones[0], ones[1]), out[26] = join(ones[2], ones[3]), out[27] = join(other, flag);
}

RF_FN void words(u64 x, u64 y, u64* out) {
    out[0] = mul_hi(x, y);
    out[1] = mul_hi_above(x, y);
    out[2] = mad_lo(x, y, dot_lo(x, y, y, y));
    u128 p = mul_wide(x, y);
    out[3] = p.lo, out[4] = p.hi;
    p = mad_wide(x, y, u128{y, x});
    out[5] = p.lo, out[6] = p.hi;
    out[7] = join(mul_hi(low(x), low(y)), mul_hi(high(x), high(y)));
    out[8] = mad_wide(low(x), low(y), x >> 31);
    const u64 m = y >> 1 ? y >> 1 : 1;
    out[9] = sub_once(x % (2 * m), m);
    out[10] = select(low(x) & 1, x, y);
    out[11] = join(sub_once(low(x), low(y)), select(high(x) & 1, low(x), low(y)));
    chains(x, y, out + 12);
    out[40] = xor3(x, y, rotate_left(x, 1));
    out[41] = dot_friendly(x, y, x ^ y, low(y));
    out[42] = sub_folded(x, y);
    out[43] = add_folded(x, y % 0xffffffff00000001ull);
    out[44] = reduce_folded(u128{x, y % 0xffffffff00000000ull});
    out[45] = mul_hi_middle(x, y);
    auto put = [&](u32 i, i96 r) { out[i] = join(r.x0, r.x1), out[i + 1] = r.x2; };
    const i96 a = {low(x), high(x), low(y)}, b = {low(y), high(y), high(x)};
    put(46, add_signed(a, b));
    put(48, sub_signed(a, b));
    put(50, reduce_signed(u128{x, y % 0xffffffff00000000ull}));
    put(52, fold_signed(a));
    put(54, fold_signed_32(i96{a.x0 - a.x0 % 2, a.x1, a.x2}));
    put(56, fold_signed_64(a));
    out[58] = canonical_folded(i96{a.x0, a.x1, a.x2 ? a.x2 : 1});
}

}  // namespace rf

extern "C" __global__ void arithmetic(const rf::M::Word* a, const rf::M::Word* b, rf::M::Word* out, rf::u64 first,
                                      rf::u64 end) {
    const rf::u64 item = first + (rf::u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    constexpr rf::M m = rf::modulus();
    rf::operations(m, a, b, out, item);
}

extern "C" __global__ void arithmetic_argument(const rf::M* m, const rf::M::Word* a, const rf::M::Word* b,
                                               rf::M::Word* out, rf::u64 first, rf::u64 end) {
    const rf::u64 item = first + (rf::u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    rf::operations(*m, a, b, out, item);
}

extern "C" __global__ void arithmetic_words(const rf::u64* a, const rf::u64* b, rf::u64* out, rf::u64 first,
                                            rf::u64 end) {
    const rf::u64 item = first + (rf::u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= end) return;
    rf::words(a[item], b[item], out + 59 * item);
}
