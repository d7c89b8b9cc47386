//! Odd q below 2^30 in 32-bit words: Shoup and Montgomery.

use crypto_bigint::U256;

use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, power_of_two, ratio, up_to};
use super::word32::{Twiddle32, lazy_32, mul_high, shoup, sub_once, sums_64, twiddle};
use crate::field::{Field, Visit};
use crate::modulus::{Modulus, low_u64};
use crate::ring::Ring;
use crate::simd::Vectors;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod32",
    header: "mod32.cuh",
    template: none,
    serves: Serves::Rings(|ring| up_to(ring, 30)),
    word: Word::U32,
    twiddle_bytes: 8,
    bytes: 16,
    fields: montgomery_fields,
    given: Given::TextOfOne,
    lazy: Some((32, 1 << 31)),
    hands_on: true,
    product_bits: 32,
    is_montgomery: false,
    cost: Cost { product: 4.0, term: 2.0, reduction: 3.0 },
};

/// q, floor(2^32 / q), q^-1 mod 2^32 and 2^64 mod q.
pub(super) fn montgomery_fields(q: &Modulus) -> Vec<Value> {
    let fields = [q.value(), ratio(q, 32), q.inverse_mod_word(), power_of_two(q, 64)];
    fields.iter().map(|field| Value::U32(low_u64(field) as u32)).collect()
}

pub(super) fn visit<V: Visit>(_: &Ring, visitor: V) -> V::Out {
    visitor.visit::<Mod32, u32>()
}

/// Odd q below 2^30: wide products are reduced by Montgomery and carry 2^-32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod32 {
    q: u32,
    /// q^-1 mod 2^32
    inverse: u32,
}

impl Field for Mod32 {
    #[allow(clippy::cast_possible_truncation)] // q < 2^30
    fn new(q: &Modulus) -> Self {
        let q = low_u64(&q.value());
        Self { q: q as u32, inverse: super::mod64::inverse(q) as u32 }
    }

    lazy_32!();
    sums_64!();

    /// A sum of eight products is below 2^63, and its high word below 2q: the difference is below 3q.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // halves
    fn wide_reduce(&self, acc: u64) -> u32 {
        let m = mul_high((acc as u32).wrapping_mul(self.inverse), self.q);
        self.relax(((acc >> 32) as u32).wrapping_add(self.q - m))
    }

    fn vectors(&self) -> Option<Vectors> {
        Vectors::of_32_bits(self.q).next()
    }
}
