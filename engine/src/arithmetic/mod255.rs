//! Odd q below 2^255 − 2^230 on eight 32-bit limbs by Shoup's method; on the CPU with those factors, for plans made for such
//! a device, not for speed.

use bytemuck::{Pod, Zeroable};
use crypto_bigint::U256;

use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word};
use super::digits;
use super::mod256::{self, Limbs, Mod256, limbs};
use crate::field::{Field, Visit};
use crate::modulus::Modulus;
use crate::ring::Ring;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod255",
    header: "mod255.cuh",
    template: |q| Some(digits::pattern(q)),
    serves: Serves::Binary(|ring, limits| {
        let [q] = ring.moduli() else { return None };
        let table = 2 * ring.degree() as u64 * TWIDDLE_BYTES as u64;
        let serves = q.bits() > 64 && table <= limits.memory_bytes / 4 && digits::in_range(q);
        serves.then(|| !limits.is_cpu())
    }),
    word: Word::U256,
    twiddle_bytes: TWIDDLE_BYTES,
    bytes: 196,
    fields: |q| {
        let digits = digits::of(q).map(|digit| digit.unwrap_or(0));
        let negated_inverse = U256::ZERO.wrapping_sub(&q.inverse_mod_word());
        let rest = [q.value().wrapping_shl_vartime(1), negated_inverse].map(|field| Value::limbs(&field));
        let base = Value::Struct((mod256::DESCRIPTOR.fields)(q));
        [base, Value::Limbs(digits)].into_iter().chain(rest).collect()
    },
    given: Given::Text,
    lazy: None,
    hands_on: false,
    product_bits: 256,
    is_montgomery: true,
    // two digits of the modulus cost nothing
    cost: Cost { product: 186.0, ..mod256::DESCRIPTOR.cost },
};

const TWIDDLE_BYTES: usize = 64;

pub(super) fn visit<V: Visit>(_: &Ring, visitor: V) -> V::Out {
    visitor.visit::<Mod255, Limbs>()
}

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
