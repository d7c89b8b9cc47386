//! Arithmetic modulo an odd q below 2^30 in 32-bit words: Shoup multiplication and Montgomery reduction.

use super::Field;
use super::word32::{Twiddle32, lazy_32, mul_high, shoup, sub_once, sums_64, twiddle};
use crate::Limbs;
use crate::montgomery::inverse;
use crate::simd::Vectors;

/// Arithmetic modulo an odd q below 2^30. Reducing a sum of products divides it by 2^32 (Montgomery).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod32 {
    q: u32,
    /// q^-1 mod 2^32
    inverse: u32,
}

impl Field for Mod32 {
    #[allow(clippy::cast_possible_truncation)] // q < 2^30
    fn new(q: &Limbs) -> Self {
        let q = q[0];
        Self { q: q as u32, inverse: inverse(q) as u32 }
    }

    lazy_32!();
    sums_64!();

    /// Montgomery reduction. A sum of eight products is below 2^63, so its high word is below 2q, and the difference
    /// plus q is below 3q.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // takes the low half and the high half
    fn wide_reduce(&self, acc: u64) -> u32 {
        let m = mul_high((acc as u32).wrapping_mul(self.inverse), self.q);
        self.relax(((acc >> 32) as u32).wrapping_add(self.q - m))
    }

    fn vectors(&self) -> Option<Vectors> {
        Vectors::of_32_bits(self.q).next()
    }
}
