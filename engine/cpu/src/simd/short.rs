//! SIMD vectors of 32-bit words in AVX-512 and AVX2 registers. 64-bit products are computed separately for even and odd
//! lanes.
//!
//! In both kinds, products are below `RELAXED`·q. The parameter `RELAXED` is 2 for q < 2^30, where reduction is lazy,
//! and 1 for q < 2^31, where each product is reduced to below q.

use core::arch::x86_64::*;

use super::narrow::{Narrow, Words};
use super::vectors::{Order, VectorKind, by_nodes, zipped};
use super::zmm;

type Factor = [u32; 2];

/// The kind of vectors of 16 words. A value exists only if the CPU has AVX-512F.
#[derive(Clone, Copy)]
struct Sixteen<const RELAXED: u64>(());

/// The kind of vectors of eight words. A value exists only if the CPU has AVX2.
#[derive(Clone, Copy)]
struct Eight<const RELAXED: u64>(());

/// Returns the kinds of vectors of 32-bit words that this CPU has, for an odd q below 2^31, the fastest first.
pub(super) fn kinds(q: u64) -> impl Iterator<Item = &'static dyn VectorKind> {
    let is_lazy = q < 1 << 30;
    let sixteen = match is_lazy {
        true => &Words(Sixteen::<2>(())) as &dyn VectorKind,
        false => &Words(Sixteen::<1>(())),
    };
    let eight = match is_lazy {
        true => &Words(Eight::<2>(())) as &dyn VectorKind,
        false => &Words(Eight::<1>(())),
    };
    let sixteen = detected!("avx512f").then_some(sixteen);
    let eight = detected!("avx2").then_some(eight);
    sixteen.into_iter().chain(eight)
}

#[target_feature(enable = "avx512f")]
fn with_sixteen(run: impl FnOnce()) {
    run();
}

#[target_feature(enable = "avx2")]
fn with_eight(run: impl FnOnce()) {
    run();
}

/// Converts permutation indices to the 32-bit words that the permutation instructions take.
#[allow(clippy::cast_possible_truncation)] // indices into 32 words
const fn short(places: [u64; 16]) -> [u32; 16] {
    let mut short = [0; 16];
    let mut i = 0;
    while i < 16 {
        short[i] = places[i] as u32;
        i += 1;
    }
    short
}

/// For each of 16 lanes, the node to which its word belongs after [`spread`](super::vectors::Lanes::spread) down to
/// nodes with halves of k words.
const fn order(k: usize) -> Order<16> {
    if k == 1 {
        return [0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15];
    }
    let (mut order, mut i) = ([0; 16], 0);
    while i < 16 {
        order[i] = zmm::order(k / 2)[i / 2];
        i += 1;
    }
    order
}

/// Returns the words of multipliers as an array of N words, padded with zeros.
#[inline(always)]
fn padded<const N: usize>(z: &[Factor]) -> [u32; N] {
    let mut words = [0; N];
    let z = z.as_flattened();
    let count = z.len().min(N);
    words[..count].copy_from_slice(&z[..count]);
    words
}

impl<const RELAXED: u64> Sixteen<RELAXED> {
    #[inline(always)]
    fn pick(self, [a, b]: [__m512i; 2], places: &[u32; 16]) -> __m512i {
        has!(_mm512_permutex2var_epi32(a, _mm512_loadu_si512(places.as_ptr().cast()), b))
    }

    /// Selects the words of both vectors at even or at odd positions (by `PLACES`), separately in each 128-bit quarter.
    #[inline(always)]
    fn alternate<const PLACES: i32>(self, [a, b]: [__m512i; 2]) -> __m512i {
        has!(_mm512_castps_si512(_mm512_shuffle_ps::<PLACES>(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))))
    }

    /// Returns floor(a·b / 2^32) per word.
    #[inline(always)]
    fn mul_high(self, a: __m512i, b: __m512i) -> __m512i {
        has!({
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(a, b));
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            _mm512_mask_blend_epi32(0xaaaa, even, odd)
        })
    }
}

impl<const RELAXED: u64> Narrow for Sixteen<RELAXED> {
    type Word = u32;
    type Words = [u32; 16];
    type Vector = __m512i;

    const RELAXED: u64 = RELAXED;
    const FAST: bool = true;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        has!(with_sixteen(run));
    }

    #[inline(always)]
    fn splat(self, x: u32) -> __m512i {
        has!(_mm512_set1_epi32(x.cast_signed()))
    }

    #[inline(always)]
    fn word(x: u64) -> u32 {
        super::vectors::low(x)
    }

    #[inline(always)]
    fn load(self, words: &[u32; 16]) -> __m512i {
        has!(_mm512_loadu_si512(words.as_ptr().cast()))
    }

    #[inline(always)]
    fn store(self, x: __m512i, words: &mut [u32; 16]) {
        has!(_mm512_storeu_si512(words.as_mut_ptr().cast(), x));
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_add_epi32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_sub_epi32(a, b))
    }

    #[inline(always)]
    fn reduce(self, x: __m512i, m: __m512i) -> __m512i {
        has!(_mm512_min_epu32(x, self.sub(x, m)))
    }

    #[inline(always)]
    fn mul(self, x: __m512i, [w, quotient]: [__m512i; 2], q: __m512i) -> __m512i {
        let multiple = self.mul_high(x, quotient);
        let product = has!(_mm512_sub_epi32(_mm512_mullo_epi32(x, w), _mm512_mullo_epi32(multiple, q)));
        if RELAXED > 1 { product } else { self.reduce(product, q) }
    }

    #[inline(always)]
    fn unzip<const K: usize>(self, pair: [__m512i; 2]) -> [__m512i; 2] {
        match K {
            1 => [self.alternate::<0x88>(pair), self.alternate::<0xdd>(pair)],
            2 => has!(zmm::unzip::<1>(pair)),
            4 => has!(zmm::unzip::<2>(pair)),
            _ => has!(zmm::unzip::<4>(pair)),
        }
    }

    #[inline(always)]
    fn zip<const K: usize>(self, [a, b]: [__m512i; 2]) -> [__m512i; 2] {
        match K {
            1 => has!([_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)]),
            2 => has!(zmm::zip::<1>([a, b])),
            4 => has!(zmm::zip::<2>([a, b])),
            _ => has!(zmm::zip::<4>([a, b])),
        }
    }

    #[inline(always)]
    fn spread<const K: usize>(self, pair: [__m512i; 2]) -> [__m512i; 2] {
        let places = const { [short(by_nodes(order(K), K, 2 * K, 1, 0)), short(by_nodes(order(K), K, 2 * K, 1, K))] };
        [self.pick(pair, &places[0]), self.pick(pair, &places[1])]
    }

    #[inline(always)]
    fn gather<const K: usize>(self, halves: [__m512i; 2]) -> [__m512i; 2] {
        let places = const { [short(zipped(order(K), K, 0)), short(zipped(order(K), K, 16))] };
        [self.pick(halves, &places[0]), self.pick(halves, &places[1])]
    }

    #[inline(always)]
    fn factors<const K: usize>(self, z: &[Factor]) -> [__m512i; 2] {
        let pair = match z.as_flattened().as_chunks::<16>() {
            ([first, second, ..], _) => [self.load(first), self.load(second)],
            ([first], _) => [self.load(first); 2],
            ([], _) => [self.load(&padded(z)); 2],
        };
        let places = const { [short(by_nodes(order(K), K, 2, 0, 0)), short(by_nodes(order(K), K, 2, 0, 1))] };
        [self.pick(pair, &places[0]), self.pick(pair, &places[1])]
    }
}

impl<const RELAXED: u64> Eight<RELAXED> {
    /// Returns floor(a·b / 2^32) per word.
    #[inline(always)]
    fn mul_high(self, a: __m256i, b: __m256i) -> __m256i {
        has!({
            let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(a, b));
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            _mm256_blend_epi32::<0b1010_1010>(even, odd)
        })
    }

    /// Selects the words of both vectors at even or at odd positions (by `PLACES`), separately in each 128-bit half.
    #[inline(always)]
    fn alternate<const PLACES: i32>(self, [a, b]: [__m256i; 2]) -> __m256i {
        has!(_mm256_castps_si256(_mm256_shuffle_ps::<PLACES>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))))
    }
}

impl<const RELAXED: u64> Narrow for Eight<RELAXED> {
    type Word = u32;
    type Words = [u32; 8];
    type Vector = __m256i;

    const RELAXED: u64 = RELAXED;
    const FAST: bool = true;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        has!(with_eight(run));
    }

    #[inline(always)]
    fn splat(self, x: u32) -> __m256i {
        has!(_mm256_set1_epi32(x.cast_signed()))
    }

    #[inline(always)]
    fn word(x: u64) -> u32 {
        super::vectors::low(x)
    }

    #[inline(always)]
    fn load(self, words: &[u32; 8]) -> __m256i {
        has!(_mm256_loadu_si256(words.as_ptr().cast()))
    }

    #[inline(always)]
    fn store(self, x: __m256i, words: &mut [u32; 8]) {
        has!(_mm256_storeu_si256(words.as_mut_ptr().cast(), x));
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        has!(_mm256_add_epi32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: __m256i, b: __m256i) -> __m256i {
        has!(_mm256_sub_epi32(a, b))
    }

    #[inline(always)]
    fn reduce(self, x: __m256i, m: __m256i) -> __m256i {
        has!(_mm256_min_epu32(x, self.sub(x, m)))
    }

    #[inline(always)]
    fn mul(self, x: __m256i, [w, quotient]: [__m256i; 2], q: __m256i) -> __m256i {
        let multiple = self.mul_high(x, quotient);
        let product = has!(_mm256_sub_epi32(_mm256_mullo_epi32(x, w), _mm256_mullo_epi32(multiple, q)));
        if RELAXED > 1 { product } else { self.reduce(product, q) }
    }

    /// Calling `unzip` for K = 4, 2 and 1 leaves the nodes with halves of one word in the order 0, 2, 1, 3, 4, 6, 5, 7.
    #[inline(always)]
    fn unzip<const K: usize>(self, [a, b]: [__m256i; 2]) -> [__m256i; 2] {
        match K {
            1 => [self.alternate::<0x88>([a, b]), self.alternate::<0xdd>([a, b])],
            2 => has!([_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)]),
            _ => has!([_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)]),
        }
    }

    #[inline(always)]
    fn zip<const K: usize>(self, [a, b]: [__m256i; 2]) -> [__m256i; 2] {
        match K {
            1 => has!([_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)]),
            _ => self.unzip::<K>([a, b]),
        }
    }

    #[inline(always)]
    fn factors<const K: usize>(self, z: &[Factor]) -> [__m256i; 2] {
        let words = padded::<16>(z);
        let ([first, second], _) = words.as_chunks::<8>() else { return [self.splat(0); 2] };
        if K == 1 {
            // Both vectors have the nodes' multipliers in the order 0, 1, 4, 5, 2, 3, 6, 7.
            let [factors, quotients] = self.unzip::<1>([self.load(first), self.load(second)]);
            let places = self.load(&[0, 4, 1, 5, 2, 6, 3, 7]);
            return has!([
                _mm256_permutevar8x32_epi32(factors, places),
                _mm256_permutevar8x32_epi32(quotients, places)
            ]);
        }
        let places = if K == 2 { [0, 0, 2, 2, 4, 4, 6, 6] } else { [0, 0, 0, 0, 2, 2, 2, 2] };
        let (words, places) = (self.load(first), self.load(&places));
        let quotients = self.add(places, self.splat(1));
        has!([_mm256_permutevar8x32_epi32(words, places), _mm256_permutevar8x32_epi32(words, quotients)])
    }
}
