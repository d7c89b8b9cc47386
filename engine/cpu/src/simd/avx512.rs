//! SIMD vectors of eight 64-bit words in AVX-512 registers. Products use the 52-bit instructions (IFMA) if the CPU has
//! them and the modulus is small enough.

use core::arch::x86_64::*;

use super::narrow::{Narrow, Words};
use super::vectors::{VectorKind, by_nodes, zipped};
use super::zmm::{self, order};

/// 52-bit products, for moduli below 2^50, because unreduced sums need two more bits.
const SHORT: u8 = 0;
/// 64-bit products whose Shoup quotients may be up to three too small, for moduli below 2^61.
const ROOMY: u8 = 1;
/// 64-bit products whose high halves are exact, for moduli below 2^62.
const EXACT: u8 = 2;

/// Mask of the low 52 bits.
const SHORT_MASK: u64 = (1 << 52) - 1;

/// A kind of vectors of eight 64-bit words. A value exists only if the CPU has the instructions for `KIND`.
#[derive(Clone, Copy)]
struct Avx512<const KIND: u8>(());

/// Returns the kinds of eight-word vectors that this CPU has and that support an odd q below 2^62, the fastest first.
pub(super) fn kinds(q: u64) -> impl Iterator<Item = &'static dyn VectorKind> {
    let has_all = detected!("avx512f", "avx512dq");
    let short = has_all && detected!("avx512ifma") && q < 1 << 50;
    let short = short.then_some(&Words(Avx512::<SHORT>(())) as &dyn VectorKind);
    let roomy = (has_all && q < 1 << 61).then_some(&Words(Avx512::<ROOMY>(())) as &dyn VectorKind);
    let exact = has_all.then_some(&Words(Avx512::<EXACT>(())) as &dyn VectorKind);
    short.into_iter().chain(roomy).chain(exact)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn with_short(run: impl FnOnce()) {
    run();
}

#[target_feature(enable = "avx512f,avx512dq")]
fn with_avx512(run: impl FnOnce()) {
    run();
}

impl<const KIND: u8> Avx512<KIND> {
    /// Multiplies the low 32 bits of each word of a by those of b.
    #[inline(always)]
    fn mul_halves(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_mul_epu32(a, b))
    }

    #[inline(always)]
    fn high_half(self, x: __m512i) -> __m512i {
        has!(_mm512_srli_epi64::<32>(x))
    }

    /// Returns the low 32 bits of each word, by a masked move. With a bit mask, the compiler would recognise the high
    /// half of a 128-bit product in `mul_high`. AVX-512 has no instruction for that, so it would generate scalar code.
    #[inline(always)]
    fn low_half(self, x: __m512i) -> __m512i {
        has!(_mm512_maskz_mov_epi32(0x5555, x))
    }

    /// Returns floor(a·b / 2^64) per word; for the kind `ROOMY`, a result up to two less.
    #[inline(always)]
    fn mul_high(self, a: __m512i, b: __m512i) -> __m512i {
        let (a_high, b_high) = (self.high_half(a), self.high_half(b));
        let high = self.mul_halves(a_high, b_high);
        let [left, right] = [self.mul_halves(a_high, b), self.mul_halves(a, b_high)];
        if KIND == ROOMY {
            return self.add(high, self.add(self.high_half(left), self.high_half(right)));
        }
        let left = self.add(left, self.high_half(self.mul_halves(a, b)));
        let right = self.add(right, self.low_half(left));
        self.add(high, self.add(self.high_half(left), self.high_half(right)))
    }
}

impl<const KIND: u8> Narrow for Avx512<KIND> {
    type Word = u64;
    type Vector = __m512i;
    type Words = [u64; 8];

    const RELAXED: u64 = if KIND == ROOMY { 4 } else { 2 };
    const FAST: bool = KIND == SHORT;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        if KIND == SHORT { has!(with_short(run)) } else { has!(with_avx512(run)) }
    }

    #[inline(always)]
    fn splat(self, x: u64) -> __m512i {
        has!(_mm512_set1_epi64(x.cast_signed()))
    }

    #[inline(always)]
    fn word(x: u64) -> u64 {
        x
    }

    #[inline(always)]
    fn load(self, words: &[u64; 8]) -> __m512i {
        has!(_mm512_loadu_si512(words.as_ptr().cast()))
    }

    #[inline(always)]
    fn store(self, x: __m512i, words: &mut [u64; 8]) {
        has!(_mm512_storeu_si512(words.as_mut_ptr().cast(), x));
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_add_epi64(a, b))
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_sub_epi64(a, b))
    }

    #[inline(always)]
    fn reduce(self, x: __m512i, m: __m512i) -> __m512i {
        has!(_mm512_min_epu64(x, self.sub(x, m)))
    }

    /// Shoup multiplication. The estimated quotient is up to one too small, or up to three for the kind `ROOMY`.
    #[inline(always)]
    fn mul(self, x: __m512i, [w, quotient]: [__m512i; 2], q: __m512i) -> __m512i {
        if KIND == SHORT {
            let (zero, mask) = (self.splat(0), self.splat(SHORT_MASK));
            let quotient = has!(_mm512_srli_epi64::<12>(quotient));
            let minus_q = has!(_mm512_and_si512(self.sub(zero, q), mask));
            let multiple = has!(_mm512_madd52hi_epu64(zero, x, quotient));
            let product = has!(_mm512_madd52lo_epu64(zero, x, w));
            return has!(_mm512_and_si512(_mm512_madd52lo_epu64(product, multiple, minus_q), mask));
        }
        let multiple = self.mul_high(x, quotient);
        has!(_mm512_sub_epi64(_mm512_mullo_epi64(x, w), _mm512_mullo_epi64(multiple, q)))
    }

    #[inline(always)]
    fn unzip<const K: usize>(self, pair: [__m512i; 2]) -> [__m512i; 2] {
        has!(zmm::unzip::<K>(pair))
    }

    #[inline(always)]
    fn zip<const K: usize>(self, halves: [__m512i; 2]) -> [__m512i; 2] {
        has!(zmm::zip::<K>(halves))
    }

    #[inline(always)]
    fn spread<const K: usize>(self, pair: [__m512i; 2]) -> [__m512i; 2] {
        let [left, right] = const { [by_nodes(order(K), K, 2 * K, 1, 0), by_nodes(order(K), K, 2 * K, 1, K)] };
        has!([zmm::pick(pair, &left), zmm::pick(pair, &right)])
    }

    #[inline(always)]
    fn gather<const K: usize>(self, halves: [__m512i; 2]) -> [__m512i; 2] {
        let [first, second] = const { [zipped(order(K), K, 0), zipped(order(K), K, 8)] };
        has!([zmm::pick(halves, &first), zmm::pick(halves, &second)])
    }

    #[inline(always)]
    fn factors<const K: usize>(self, z: &[[u64; 2]]) -> [__m512i; 2] {
        let [factors, quotients] = const { [by_nodes(order(K), K, 2, 0, 0), by_nodes(order(K), K, 2, 0, 1)] };
        let pair = match z.as_flattened().as_chunks::<8>() {
            ([first, second, ..], _) => [self.load(first), self.load(second)],
            ([first], _) => [self.load(first); 2],
            ([], four) => [has!(_mm512_broadcast_i64x4(_mm256_loadu_si256(four[..4].as_ptr().cast()))); 2],
        };
        has!([zmm::pick(pair, &factors), zmm::pick(pair, &quotients)])
    }
}
