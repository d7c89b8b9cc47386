//! Residues below 2^255 with the factors of the device's Shoup products: for plans made for such a device, not for speed.

use bytemuck::{Pod, Zeroable};
use crypto_bigint::U256;

use super::Field;
use super::limbs::{Limbs, Mod256, limbs};
use crate::modulus::Modulus;

/// A known factor w, plain, and floor(2^256 w / q).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
pub(crate) struct TwiddleShoup {
    w: Limbs,
    quotient: Limbs,
}

/// Odd q below 2^255, residues in Montgomery form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod255 {
    montgomery: Mod256<true>,
    /// 2^512 mod q
    square: Limbs,
    /// q^-1 mod 2^256
    inverse: U256,
}

impl Field for Mod255 {
    type Word = Limbs;
    type Twiddle = TwiddleShoup;
    type Wide = Limbs;

    fn new(q: &Modulus) -> Self {
        let square = limbs(&q.to_montgomery(&q.to_montgomery(&U256::ONE)));
        Self { montgomery: Mod256::new(q), square, inverse: q.inverse_mod_word() }
    }

    fn word(&self, q: &Modulus, x: &U256) -> Limbs {
        self.montgomery.word(q, x)
    }

    /// The Montgomery form is 2^256 w − q floor(2^256 w / q).
    fn twiddle(&self, w: Limbs) -> TwiddleShoup {
        let form = U256::from_le_slice(bytemuck::bytes_of(&w.map(u64::to_le)));
        let quotient = limbs(&U256::ZERO.wrapping_sub(&form.wrapping_mul(&self.inverse)));
        TwiddleShoup { w: self.montgomery.mul(w, &[1, 0, 0, 0]), quotient }
    }

    fn mul(&self, x: Limbs, w: &TwiddleShoup) -> Limbs {
        self.montgomery.mul(self.montgomery.mul(x, &w.w), &self.square)
    }

    fn reduce_any(&self, x: Limbs, _: &TwiddleShoup) -> Limbs {
        self.montgomery.mul(self.montgomery.reduce_any(x, &self.square), &[1, 0, 0, 0])
    }

    fn add(&self, a: Limbs, b: Limbs) -> Limbs {
        self.montgomery.add(a, b)
    }

    fn sub(&self, a: Limbs, b: Limbs) -> Limbs {
        self.montgomery.sub(a, b)
    }

    fn relax(&self, x: Limbs) -> Limbs {
        x
    }

    fn canonical(&self, x: Limbs) -> Limbs {
        x
    }

    fn wide_zero(&self) -> Limbs {
        self.montgomery.wide_zero()
    }

    fn wide_mad(&self, acc: Limbs, a: Limbs, b: Limbs) -> Limbs {
        self.montgomery.wide_mad(acc, a, b)
    }

    fn wide_reduce(&self, acc: Limbs) -> Limbs {
        acc
    }
}
