//! Any q below 2^16 in 32-bit words: Shoup and Barrett.

use crypto_bigint::U256;

use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, ratio, up_to};
use super::word32::{Twiddle32, lazy_32, mul_high, shoup, sub_once, sums_64, twiddle};
use crate::field::{Field, Visit};
use crate::modulus::{Modulus, Width, low_u64};
use crate::ring::Ring;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod16",
    header: "mod16.cuh",
    template: none,
    serves: Serves::Rings(|ring| ring.width() == Width::W16),
    word: Word::U32,
    twiddle_bytes: 8,
    bytes: 8,
    fields: |q| vec![Value::U32(low_u64(&q.value()) as u32), Value::U32(low_u64(&ratio(q, 32)) as u32)],
    given: Given::TextOfOne,
    lazy: Some((32, 1 << 31)),
    hands_on: false,
    product_bits: 0,
    is_montgomery: false,
    cost: Cost { product: 4.0, term: 2.0, reduction: 3.0 },
};

pub(super) fn visit<V: Visit>(ring: &Ring, visitor: V) -> V::Out {
    if up_to(ring, 14) { visitor.visit::<Mod14, u16>() } else { visitor.visit::<Mod16, u16>() }
}

/// Any q below 2^14: a sum of eight products fits 31 bits, and its Barrett quotient is exact or one less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod14 {
    q: u32,
    /// floor((2^32 − 1) / q)
    ratio: u32,
}

impl Field for Mod14 {
    type Wide = u32;

    #[allow(clippy::cast_possible_truncation)] // q < 2^14
    fn new(q: &Modulus) -> Self {
        let q = low_u64(&q.value()) as u32;
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

/// Any q below 2^16: wide products are reduced by Barrett, so they carry no factor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod16 {
    q: u32,
    /// floor((2^64 − 1) / q)
    ratio: u64,
}

impl Field for Mod16 {
    #[allow(clippy::cast_possible_truncation)] // q < 2^16
    fn new(q: &Modulus) -> Self {
        let q = low_u64(&q.value());
        Self { q: q as u32, ratio: u64::MAX / q }
    }

    lazy_32!();
    sums_64!();

    /// The quotient of a sum below 2^36 is exact or one less.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // the remainder is below 2q
    fn wide_reduce(&self, acc: u64) -> u32 {
        let quotient = ((u128::from(acc) * u128::from(self.ratio)) >> 64) as u64;
        acc.wrapping_sub(quotient.wrapping_mul(u64::from(self.q))) as u32
    }
}
