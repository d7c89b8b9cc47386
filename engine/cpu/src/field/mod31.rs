//! Arithmetic modulo an odd q below 2^31 in 32-bit words: Shoup multiplication and Montgomery reduction. A word can
//! hold the sum of only two residues, so there is no lazy reduction.

use super::Field;
use super::word32::{Twiddle32, mul_high, shoup, sub_once, twiddle};
use crate::Limbs;
use crate::montgomery::inverse;
use crate::simd::Vectors;

/// Arithmetic modulo an odd q below 2^31, which keeps every residue below q.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod31 {
    q: u32,
    /// q^-1 mod 2^32
    inverse: u32,
}

impl Field for Mod31 {
    type Word = u32;
    type Twiddle = Twiddle32;
    /// A sum of products, kept below 2^32·q.
    type Wide = u64;

    #[allow(clippy::cast_possible_truncation)] // q < 2^31
    fn new(q: &Limbs) -> Self {
        let q = q[0];
        Self { q: q as u32, inverse: inverse(q) as u32 }
    }

    #[inline(always)]
    fn twiddle(&self, w: u32) -> Twiddle32 {
        twiddle(w, self.q)
    }

    #[inline(always)]
    fn mul(&self, x: u32, w: &Twiddle32) -> u32 {
        sub_once(shoup(x, w, self.q), self.q)
    }

    #[inline(always)]
    fn add(&self, a: u32, b: u32) -> u32 {
        sub_once(a.wrapping_add(b), self.q)
    }

    #[inline(always)]
    fn sub(&self, a: u32, b: u32) -> u32 {
        let difference = a.wrapping_sub(b);
        difference.min(difference.wrapping_add(self.q))
    }

    #[inline(always)]
    fn wide_zero(&self) -> u64 {
        0
    }

    /// A product is below q² < 2^31·q, so the sum is below 2^33·q before the conditional subtraction of 2^32·q.
    #[inline(always)]
    fn wide_mad(&self, acc: u64, a: u32, b: u32) -> u64 {
        let sum = acc.wrapping_add(u64::from(a) * u64::from(b));
        sum.min(sum.wrapping_sub(u64::from(self.q) << 32))
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // takes the low half and the high half
    fn wide_reduce(&self, acc: u64) -> u32 {
        let m = mul_high((acc as u32).wrapping_mul(self.inverse), self.q);
        self.sub((acc >> 32) as u32, m)
    }

    fn vectors(&self) -> Option<Vectors> {
        Vectors::of_32_bits(self.q).next()
    }
}
