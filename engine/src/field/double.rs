//! Residues below 2^50 with the factors of the device's doubles: for plans made for such a device, not for speed.

use bytemuck::{Pod, Zeroable};
use crypto_bigint::U256;

use super::Field;
use crate::modulus::{Modulus, low_u64};

/// A known factor in (-q/2, q/2) with its quotient by q, rounded.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
pub(crate) struct TwiddleDouble {
    w: f64,
    quotient: f64,
}

/// Odd q below 2^50.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod50 {
    q: u64,
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // all below 2^52
impl Field for Mod50 {
    type Word = u64;
    type Twiddle = TwiddleDouble;
    type Wide = u128;

    const HAS_FACTOR: bool = false;

    fn new(q: &Modulus) -> Self {
        Self { q: low_u64(&q.value()) }
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
        self.canonical(x)
    }

    fn canonical(&self, x: u64) -> u64 {
        x % self.q
    }

    fn wide_zero(&self) -> u128 {
        0
    }

    fn wide_mad(&self, acc: u128, a: u64, b: u64) -> u128 {
        acc.wrapping_add(u128::from(a) * u128::from(b))
    }

    fn wide_reduce(&self, acc: u128) -> u64 {
        (acc % u128::from(self.q)) as u64
    }
}
