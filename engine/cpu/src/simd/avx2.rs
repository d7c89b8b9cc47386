//! SIMD vectors of four 64-bit words in AVX2 registers.

use core::arch::x86_64::*;

use super::narrow::{Narrow, Words};
use super::vectors::VectorKind;

/// The kind of vectors of four 64-bit words. A value exists only if the CPU has AVX2. With `ROOMY`, q must be below
/// 2^61, because Shoup quotients may be up to three too small.
#[derive(Clone, Copy)]
struct Avx2<const ROOMY: bool>(());

/// Returns the kinds of four-word vectors that support an odd q below 2^62, the fastest first; none if the CPU lacks
/// AVX2.
pub(super) fn kinds(q: u64) -> impl Iterator<Item = &'static dyn VectorKind> {
    let has_avx2 = detected!("avx2");
    let roomy = (has_avx2 && q < 1 << 61).then_some(&Words(Avx2::<true>(())) as &dyn VectorKind);
    let exact = has_avx2.then_some(&Words(Avx2::<false>(())) as &dyn VectorKind);
    roomy.into_iter().chain(exact)
}

#[target_feature(enable = "avx2")]
fn with_avx2(run: impl FnOnce()) {
    run();
}

impl<const ROOMY: bool> Avx2<ROOMY> {
    /// Multiplies the low 32 bits of each word of a by those of b.
    #[inline(always)]
    fn mul_halves(self, a: __m256i, b: __m256i) -> __m256i {
        has!(_mm256_mul_epu32(a, b))
    }

    #[inline(always)]
    fn high_half(self, x: __m256i) -> __m256i {
        has!(_mm256_srli_epi64::<32>(x))
    }

    /// Returns the low 32 bits of each word, by a blend. With a bit mask, the compiler would recognise the high half of
    /// a 128-bit product in `mul_high`. AVX2 has no instruction for that, so it would generate scalar code.
    #[inline(always)]
    fn low_half(self, x: __m256i) -> __m256i {
        has!(_mm256_blend_epi32::<0b1010_1010>(x, _mm256_setzero_si256()))
    }

    /// Returns floor(a·b / 2^64) per word; with `ROOMY`, a result up to two less.
    #[inline(always)]
    fn mul_high(self, a: __m256i, b: __m256i) -> __m256i {
        let (a_high, b_high) = (self.high_half(a), self.high_half(b));
        let high = self.mul_halves(a_high, b_high);
        let [left, right] = [self.mul_halves(a_high, b), self.mul_halves(a, b_high)];
        if ROOMY {
            return self.add(high, self.add(self.high_half(left), self.high_half(right)));
        }
        let left = self.add(left, self.high_half(self.mul_halves(a, b)));
        let right = self.add(right, self.low_half(left));
        self.add(high, self.add(self.high_half(left), self.high_half(right)))
    }

    /// Returns a_high·b_low + a_low·b_high per word, where the factors are 32-bit halves.
    #[inline(always)]
    fn cross(self, a: __m256i, b: __m256i) -> __m256i {
        self.add(self.mul_halves(self.high_half(a), b), self.mul_halves(a, self.high_half(b)))
    }

    /// Returns a·b − c·d modulo 2^64 per word.
    #[inline(always)]
    fn mul_sub(self, [a, b]: [__m256i; 2], [c, d]: [__m256i; 2]) -> __m256i {
        let high = has!(_mm256_slli_epi64::<32>(self.sub(self.cross(a, b), self.cross(c, d))));
        self.add(high, self.sub(self.mul_halves(a, b), self.mul_halves(c, d)))
    }
}

impl<const ROOMY: bool> Narrow for Avx2<ROOMY> {
    type Word = u64;
    type Vector = __m256i;
    type Words = [u64; 4];

    const RELAXED: u64 = if ROOMY { 4 } else { 2 };
    const FAST: bool = false;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        has!(with_avx2(run));
    }

    #[inline(always)]
    fn splat(self, x: u64) -> __m256i {
        has!(_mm256_set1_epi64x(x.cast_signed()))
    }

    #[inline(always)]
    fn word(x: u64) -> u64 {
        x
    }

    #[inline(always)]
    fn load(self, words: &[u64; 4]) -> __m256i {
        has!(_mm256_loadu_si256(words.as_ptr().cast()))
    }

    #[inline(always)]
    fn store(self, x: __m256i, words: &mut [u64; 4]) {
        has!(_mm256_storeu_si256(words.as_mut_ptr().cast(), x));
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        has!(_mm256_add_epi64(a, b))
    }

    #[inline(always)]
    fn sub(self, a: __m256i, b: __m256i) -> __m256i {
        has!(_mm256_sub_epi64(a, b))
    }

    /// Subtracts m once. AVX2 has no unsigned minimum of 64-bit words, so the sign bit of x − m selects the result:
    /// this bit is set exactly if the difference wraps.
    #[inline(always)]
    fn reduce(self, x: __m256i, m: __m256i) -> __m256i {
        let difference = self.sub(x, m);
        let [a, b] = has!([_mm256_castsi256_pd(difference), _mm256_castsi256_pd(x)]);
        has!(_mm256_castpd_si256(_mm256_blendv_pd(a, b, a)))
    }

    /// Shoup multiplication. The estimated quotient is up to one too small, or up to three with `ROOMY`.
    #[inline(always)]
    fn mul(self, x: __m256i, [w, quotient]: [__m256i; 2], q: __m256i) -> __m256i {
        self.mul_sub([x, w], [self.mul_high(x, quotient), q])
    }

    /// Calling `unzip` for K = 2 and then for K = 1 leaves the nodes of both vectors in order from left to right.
    #[inline(always)]
    fn unzip<const K: usize>(self, [a, b]: [__m256i; 2]) -> [__m256i; 2] {
        match K {
            1 => [has!(_mm256_unpacklo_epi64(a, b)), has!(_mm256_unpackhi_epi64(a, b))],
            _ => [has!(_mm256_permute2x128_si256::<0x20>(a, b)), has!(_mm256_permute2x128_si256::<0x31>(a, b))],
        }
    }

    #[inline(always)]
    fn zip<const K: usize>(self, halves: [__m256i; 2]) -> [__m256i; 2] {
        self.unzip::<K>(halves)
    }

    #[inline(always)]
    fn factors<const K: usize>(self, z: &[[u64; 2]]) -> [__m256i; 2] {
        let (vectors, _) = z.as_flattened().as_chunks::<4>();
        let [factors, quotients] = self.unzip::<1>([self.load(&vectors[0]), self.load(&vectors[vectors.len() - 1])]);
        if K > 1 {
            return [factors, quotients];
        }
        // Both vectors have the nodes' multipliers in the order 0, 2, 1, 3.
        has!([_mm256_permute4x64_epi64::<0b11_01_10_00>(factors), _mm256_permute4x64_epi64::<0b11_01_10_00>(quotients)])
    }
}
