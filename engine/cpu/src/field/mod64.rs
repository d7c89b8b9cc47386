//! Arithmetic modulo an odd q below 2^62 in 64-bit words: Shoup multiplication and Montgomery reduction.

use super::Field;
use crate::Limbs;
use crate::choice::sub_once;
use crate::montgomery::inverse;
use crate::simd::Vectors;
use bytemuck::{Pod, Zeroable};

/// Returns 2^128 mod q.
#[allow(clippy::cast_possible_truncation)] // below q
pub(super) fn square_of_radix(q: u64) -> u64 {
    let radix = (1 << 64) % u128::from(q);
    (radix * radix % u128::from(q)) as u64
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the high half
pub(super) fn mul_high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// A multiplier w < q with its Shoup quotient floor(2^64 w / q).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
pub(crate) struct Twiddle64 {
    w: u64,
    quotient: u64,
}

/// Arithmetic modulo an odd q below 2^62. Reducing a sum of products divides it by 2^64 (Montgomery).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod64 {
    q: u64,
    /// q^-1 mod 2^64
    inverse: u64,
    /// 2^128 mod q
    square: u64,
}

impl Field for Mod64 {
    type Word = u64;
    type Twiddle = Twiddle64;
    type Wide = u128;

    fn new(q: &Limbs) -> Self {
        let q = q[0];
        Self { q, inverse: inverse(q), square: square_of_radix(q) }
    }

    /// Computes the Shoup quotient floor(2^64·w / q) without a division: 2^64·w minus its remainder modulo q is an
    /// exact multiple of q, so multiplying by q^-1 mod 2^64 divides it.
    #[inline(always)]
    fn twiddle(&self, w: u64) -> Twiddle64 {
        let remainder = self.canonical(self.wide_reduce(u128::from(w) * u128::from(self.square)));
        Twiddle64 { w, quotient: 0u64.wrapping_sub(remainder.wrapping_mul(self.inverse)) }
    }

    #[inline(always)]
    fn mul(&self, x: u64, w: &Twiddle64) -> u64 {
        x.wrapping_mul(w.w).wrapping_sub(mul_high(x, w.quotient).wrapping_mul(self.q))
    }

    #[inline(always)]
    fn add(&self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn sub(&self, a: u64, b: u64) -> u64 {
        a.wrapping_add((2 * self.q).wrapping_sub(b))
    }

    #[inline(always)]
    fn relax(&self, x: u64) -> u64 {
        sub_once(x, 2 * self.q)
    }

    #[inline(always)]
    fn canonical(&self, x: u64) -> u64 {
        sub_once(self.relax(x), self.q)
    }

    #[inline(always)]
    fn wide_zero(&self) -> u128 {
        0
    }

    #[inline(always)]
    fn wide_mad(&self, acc: u128, a: u64, b: u64) -> u128 {
        acc.wrapping_add(u128::from(a) * u128::from(b))
    }

    /// Montgomery reduction. A sum of eight products is below 2^127, so its high word is below 2q, and the difference
    /// plus q is below 3q.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // takes the low half and the high half
    fn wide_reduce(&self, acc: u128) -> u64 {
        let m = mul_high((acc as u64).wrapping_mul(self.inverse), self.q);
        self.relax(((acc >> 64) as u64).wrapping_add(self.q - m))
    }

    fn vectors(&self) -> Option<Vectors> {
        Vectors::of_64_bits(self.q).next()
    }
}
