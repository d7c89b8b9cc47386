//! Odd q below 2^64 in 64-bit words: Montgomery.

use crypto_bigint::U256;

use super::descriptor::{Descriptor, Given, Serves, Word, none, up_to};
use super::mod64::{self, inverse, montgomery_fields, mul_high, square_of_radix};
use crate::field::{Field, Visit};
use crate::modulus::{Modulus, low_u64};
use crate::ring::Ring;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod64Full",
    header: "mod64.cuh",
    template: none,
    serves: Serves::Rings(|ring| up_to(ring, 64)),
    word: Word::U64,
    twiddle_bytes: 8,
    bytes: 32,
    fields: montgomery_fields,
    given: Given::Launch,
    lazy: None,
    hands_on: false,
    product_bits: 64,
    is_montgomery: false,
    cost: mod64::DESCRIPTOR.cost,
};

pub(super) fn visit<V: Visit>(_: &Ring, visitor: V) -> V::Out {
    visitor.visit::<Mod64Full, u64>()
}

/// Odd q below 2^64: strict, factors in Montgomery form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod64Full {
    q: u64,
    /// q^-1 mod 2^64
    inverse: u64,
    /// 2^128 mod q
    square: u64,
}

impl Mod64Full {
    /// in: a b < 2^64 q   out: a b 2^-64, canonical
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // halves
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

    fn new(q: &Modulus) -> Self {
        let square = square_of_radix(q);
        let q = low_u64(&q.value());
        Self { q, inverse: inverse(q), square }
    }

    #[inline(always)]
    fn word(&self, _: &Modulus, x: &U256) -> u64 {
        low_u64(x)
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
        core::hint::select_unpredictable(borrow, difference.wrapping_add(self.q), difference)
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
