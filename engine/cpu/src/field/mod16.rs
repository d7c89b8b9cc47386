//! Any q below 2^16 in 32-bit words: Shoup multiplication and Barrett reduction.

use super::Field;
use super::word32::{Twiddle32, lazy_32, mul_high, shoup, sub_once, sums_64, twiddle};
use crate::Limbs;

/// Arithmetic modulo any q below 2^14. A sum of eight products is below 2^31, and its Barrett quotient is exact or one
/// too small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod14 {
    q: u32,
    /// floor((2^32 − 1) / q), for Barrett quotients
    ratio: u32,
}

impl Field for Mod14 {
    type Wide = u32;

    #[allow(clippy::cast_possible_truncation)] // q < 2^14
    fn new(q: &Limbs) -> Self {
        let q = q[0] as u32;
        Self { q, ratio: u32::MAX / q }
    }

    lazy_32!();

    #[inline(always)]
    fn wide_zero(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn wide_mad(&self, acc: u32, a: u32, b: u32) -> u32 {
        acc.wrapping_add(a.wrapping_mul(b))
    }

    #[inline(always)]
    fn wide_reduce(&self, acc: u32) -> u32 {
        acc.wrapping_sub(mul_high(acc, self.ratio).wrapping_mul(self.q))
    }
}

/// Arithmetic modulo any q below 2^16. Sums of products are reduced by Barrett, which does not scale them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod16 {
    q: u32,
    /// floor((2^64 − 1) / q), for Barrett quotients
    ratio: u64,
}

impl Field for Mod16 {
    #[allow(clippy::cast_possible_truncation)] // q < 2^16
    fn new(q: &Limbs) -> Self {
        let q = q[0];
        Self { q: q as u32, ratio: u64::MAX / q }
    }

    lazy_32!();
    sums_64!();

    /// Barrett reduction: for a sum below 2^36, the estimated quotient is exact or one too small.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // the remainder is below 2q
    fn wide_reduce(&self, acc: u64) -> u32 {
        let quotient = ((u128::from(acc) * u128::from(self.ratio)) >> 64) as u64;
        acc.wrapping_sub(quotient.wrapping_mul(u64::from(self.q))) as u32
    }
}
