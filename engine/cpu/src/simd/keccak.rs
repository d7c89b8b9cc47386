//! The operations of Keccak on SIMD vectors of eight words (AVX-512) and of four (AVX2).

use core::arch::x86_64::*;

use crate::keccak::Lanes;

/// Vectors of eight words. A value exists only if the CPU has AVX-512F.
#[derive(Clone, Copy)]
pub(crate) struct Eight(());

/// Vectors of four words. A value exists only if the CPU has AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Four(());

pub(crate) fn eight() -> Option<Eight> {
    detected!("avx512f").then_some(Eight(()))
}

pub(crate) fn four() -> Option<Four> {
    detected!("avx2").then_some(Four(()))
}

#[target_feature(enable = "avx512f")]
fn with_eight(run: impl FnOnce()) {
    run();
}

#[target_feature(enable = "avx2")]
fn with_four(run: impl FnOnce()) {
    run();
}

impl Lanes<8> for Eight {
    type Vector = __m512i;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        has!(with_eight(run));
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
    fn splat(self, x: u64) -> __m512i {
        has!(_mm512_set1_epi64(x.cast_signed()))
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_xor_si512(a, b))
    }

    #[inline(always)]
    fn chi(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        has!(_mm512_ternarylogic_epi64::<0xd2>(a, b, c))
    }

    #[inline(always)]
    fn rotate_left<const BITS: i32>(self, x: __m512i) -> __m512i {
        has!(_mm512_rol_epi64::<BITS>(x))
    }
}

impl Lanes<4> for Four {
    type Vector = __m256i;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        has!(with_four(run));
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
    fn splat(self, x: u64) -> __m256i {
        has!(_mm256_set1_epi64x(x.cast_signed()))
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        has!(_mm256_xor_si256(a, b))
    }

    #[inline(always)]
    fn chi(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        has!(_mm256_xor_si256(a, _mm256_andnot_si256(b, c)))
    }

    #[inline(always)]
    fn rotate_left<const BITS: i32>(self, x: __m256i) -> __m256i {
        has!({
            let left = _mm_cvtsi32_si128(BITS);
            let right = _mm_cvtsi32_si128(64 - BITS);
            _mm256_or_si256(_mm256_sll_epi64(x, left), _mm256_srl_epi64(x, right))
        })
    }
}
