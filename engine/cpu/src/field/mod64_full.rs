//! Arithmetic modulo an odd q below 2^64 in 64-bit words: Montgomery multiplication.

use super::Field;
use super::mod64::{mul_high, square_of_radix};
use crate::Limbs;
use crate::choice::mask;
use crate::montgomery::inverse;

/// Arithmetic modulo an odd q below 2^64, which keeps every residue below q. Multipliers are in Montgomery form,
/// w·2^64 mod q.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod64Full {
    q: u64,
    /// q^-1 mod 2^64
    inverse: u64,
    /// 2^128 mod q
    square: u64,
}

impl Mod64Full {
    /// Returns a·b·2^-64 mod q, below q. in: a·b < 2^64·q
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // takes the low half and the high half
    fn montgomery(&self, a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        let m = mul_high((product as u64).wrapping_mul(self.inverse), self.q);
        self.sub((product >> 64) as u64, m)
    }
}

impl Field for Mod64Full {
    type Word = u64;
    type Twiddle = u64;
    type Wide = u64;

    fn new(q: &Limbs) -> Self {
        let q = q[0];
        Self { q, inverse: inverse(q), square: square_of_radix(q) }
    }

    #[inline(always)]
    fn twiddle(&self, w: u64) -> u64 {
        self.montgomery(w, self.square)
    }

    #[inline(always)]
    fn mul(&self, x: u64, w: &u64) -> u64 {
        self.montgomery(x, *w)
    }

    #[inline(always)]
    fn add(&self, a: u64, b: u64) -> u64 {
        self.sub(a, self.q.wrapping_sub(b))
    }

    #[inline(always)]
    fn sub(&self, a: u64, b: u64) -> u64 {
        let (difference, borrow) = a.overflowing_sub(b);
        difference.wrapping_add(self.q & mask(borrow))
    }

    #[inline(always)]
    fn wide_zero(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn wide_mad(&self, acc: u64, a: u64, b: u64) -> u64 {
        self.add(acc, self.montgomery(a, b))
    }

    #[inline(always)]
    fn wide_reduce(&self, acc: u64) -> u64 {
        acc
    }
}
