//! Odd q below 2^50 in doubles; on the CPU with the factors of the device's doubles, for plans made for such a device, not
//! for speed.

use bytemuck::{Pod, Zeroable};
use crypto_bigint::U256;

use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, up_to};
use super::mod64::{mul_high, sub_once};
use crate::field::{Field, Visit};
use crate::modulus::{Modulus, Width, low_u64};
use crate::ring::Ring;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod50",
    header: "mod50.cuh",
    template: none,
    serves: Serves::Binary(|ring, limits| {
        let small = ring.width() == Width::W64 && up_to(ring, 50) && !ring.accepts_any_word();
        small.then(|| limits.has_fast_doubles())
    }),
    word: Word::Double,
    twiddle_bytes: 16,
    bytes: 16,
    fields: |q| {
        let value = low_u64(&q.value()) as f64;
        vec![Value::Double(value), Value::Double(value.recip())]
    },
    given: Given::Launch,
    // products of doubles up to 2^52 are exact, q does not divide that
    lazy: Some((52, 1 << 31)),
    hands_on: false,
    product_bits: 0,
    is_montgomery: false,
    cost: Cost { product: 5.6, term: 5.6, reduction: 0.0 },
};

pub(super) fn visit<V: Visit>(_: &Ring, visitor: V) -> V::Out {
    visitor.visit::<Mod50, u64>()
}

/// A known factor in (-q/2, q/2) with its quotient by q, rounded.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
pub(crate) struct TwiddleDouble {
    w: f64,
    quotient: f64,
}

/// Odd q below 2^50. What a device rounds in doubles is made by exact integers here, and no residue is ever divided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod50 {
    q: u64,
    /// floor((2^64 − 1) / q)
    ratio: u64,
    /// 2^64 mod q
    radix: u64,
    /// floor(2^64 (2^64 mod q) / q)
    radix_quotient: u64,
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // all below 2^52
impl Field for Mod50 {
    type Word = u64;
    type Twiddle = TwiddleDouble;
    type Wide = u128;

    fn new(q: &Modulus) -> Self {
        let q = low_u64(&q.value());
        let radix = (u64::MAX % q + 1) % q;
        let radix_quotient = ((u128::from(radix) << 64) / u128::from(q)) as u64;
        Self { q, ratio: u64::MAX / q, radix, radix_quotient }
    }

    fn word(&self, _: &Modulus, x: &U256) -> u64 {
        low_u64(x)
    }

    fn twiddle(&self, w: u64) -> TwiddleDouble {
        let w = if w > self.q / 2 { w as f64 - self.q as f64 } else { w as f64 };
        TwiddleDouble { w, quotient: w / self.q as f64 }
    }

    fn mul(&self, x: u64, w: &TwiddleDouble) -> u64 {
        let w = if w.w < 0.0 { w.w + self.q as f64 } else { w.w };
        self.wide_reduce(u128::from(x) * u128::from(w as u64))
    }

    fn add(&self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    fn sub(&self, a: u64, b: u64) -> u64 {
        a.wrapping_add((2 * self.q).wrapping_sub(b))
    }

    fn relax(&self, x: u64) -> u64 {
        sub_once(x, 2 * self.q)
    }

    fn canonical(&self, x: u64) -> u64 {
        sub_once(self.relax(x), self.q)
    }

    fn wide_zero(&self) -> u128 {
        0
    }

    fn wide_mad(&self, acc: u128, a: u64, b: u64) -> u128 {
        acc.wrapping_add(u128::from(a) * u128::from(b))
    }

    /// Both words by quotients that are exact or one less (the high one by Shoup's, the low one by Barrett's), so the sum of
    /// what is left is below 4q.
    fn wide_reduce(&self, acc: u128) -> u64 {
        let (low, high) = (acc as u64, (acc >> 64) as u64);
        let left = |x: u64, factor: u64, quotient: u64| {
            x.wrapping_mul(factor).wrapping_sub(mul_high(x, quotient).wrapping_mul(self.q))
        };
        self.relax(left(high, self.radix, self.radix_quotient) + left(low, 1, self.ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_products_are_reduced() {
        for q in [3, 5, 3329, (1 << 30) - 1, (1 << 49) + 1, (1 << 50) - 27, (1 << 50) - 1] {
            let field = Mod50::new(&Modulus::new(q).expect("a modulus"));
            let most = 8 * u128::from(q - 1) * u128::from(q - 1);
            // the words' edges, multiples of q and their neighbours, and any
            let edges = [0, 1, u128::from(u64::MAX), 1 << 64, most / 2, most].map(|x| x.min(most));
            let multiples = edges.map(|x| x / u128::from(q) * u128::from(q));
            let any = (1..10_000u128).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) % (most + 1));
            for x in edges.into_iter().chain(multiples.into_iter().flat_map(|x| [x.saturating_sub(1), x])).chain(any) {
                let found = field.wide_reduce(x);
                assert!(found < 2 * q, "{x} modulo {q}");
                assert_eq!(u128::from(field.canonical(found)), x % u128::from(q), "{x} modulo {q}");
            }
        }
    }
}
