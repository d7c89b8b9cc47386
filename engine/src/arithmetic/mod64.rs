//! Odd q below 2^62 in 64-bit words: Shoup and Montgomery.

use bytemuck::{Pod, Zeroable};
use crypto_bigint::U256;

use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, power_of_two, ratio, up_to};
use crate::field::{Field, Visit};
use crate::modulus::{Modulus, Width, low_u64};
use crate::ring::Ring;
use crate::simd::Vectors;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod64",
    header: "mod64.cuh",
    template: none,
    serves: Serves::Rings(|ring| up_to(ring, 62)),
    word: Word::U64,
    twiddle_bytes: 16,
    bytes: 32,
    fields: montgomery_fields,
    given: Given::Launch,
    lazy: Some((64, 64)),
    hands_on: true,
    product_bits: 64,
    is_montgomery: false,
    cost: Cost { product: 15.0, term: 8.0, reduction: 11.0 },
};

/// q, its reciprocal and the shift that belongs to it, q^-1 mod 2^64 and 2^128 mod q.
pub(super) fn montgomery_fields(q: &Modulus) -> Vec<Value> {
    // the quotient of x by q is about ratio · ⌊2^shift x / 2^32⌋ / 2^57
    let shift = 58u32.saturating_sub(q.bits());
    let ratio = low_u64(&ratio(q, 89 - shift)) as u32;
    let [inverse, square] = [q.inverse_mod_word(), power_of_two(q, 128)].map(|field| Value::U64(low_u64(&field)));
    vec![Value::U64(low_u64(&q.value())), Value::U32(ratio), Value::U32(shift), inverse, square]
}

pub(super) fn visit<V: Visit>(ring: &Ring, visitor: V) -> V::Out {
    match ring.width() {
        Width::W32 => visitor.visit::<Mod64, u32>(),
        _ => visitor.visit::<Mod64, u64>(),
    }
}

/// q^-1 mod 2^64 for odd q.
pub(super) fn inverse(q: u64) -> u64 {
    let mut inverse = q; // right to 3 bits, and each step doubles them
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(inverse)));
    }
    inverse
}

/// 2^128 mod q.
pub(super) fn square_of_radix(q: &Modulus) -> u64 {
    low_u64(&power_of_two(q, 128))
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the high half
pub(super) fn mul_high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// in: x < 2m   out: x mod m
#[inline(always)]
pub(super) fn sub_once(x: u64, m: u64) -> u64 {
    x.min(x.wrapping_sub(m))
}

/// A known factor w < q with floor(2^64 w / q).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
pub(crate) struct Twiddle64 {
    w: u64,
    quotient: u64,
}

/// Odd q below 2^62.
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

    fn new(q: &Modulus) -> Self {
        let square = square_of_radix(q);
        let q = low_u64(&q.value());
        Self { q, inverse: inverse(q), square }
    }

    #[inline(always)]
    fn word(&self, _: &Modulus, x: &U256) -> u64 {
        low_u64(x)
    }

    /// The quotient of 2^64 w by q is exact once the remainder is taken away.
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

    /// A sum of eight products is below 2^127, and its high word below 2q: the difference is below 3q.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // halves
    fn wide_reduce(&self, acc: u128) -> u64 {
        let m = mul_high((acc as u64).wrapping_mul(self.inverse), self.q);
        self.relax(((acc >> 64) as u64).wrapping_add(self.q - m))
    }

    fn vectors(&self) -> Option<Vectors> {
        Vectors::of_64_bits(self.q).next()
    }
}
