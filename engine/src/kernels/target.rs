//! Arithmetic modulo any q, for the tables and CPU references of kernels: one implementation for q of up to 64 bits,
//! one for up to 256 bits.

use core::fmt::Debug;

use bytemuck::Pod;
use crypto_bigint::U256;
use ringforge_cpu::Limbs;
use ringforge_cpu::choice::is_below;

use super::divisor256::{self, Divisor256, Factor};
use crate::kernels::crt::{Barrett, Divisor, Stored, add_mod};
use ringforge_math::modulus::{Modulus, limbs, low_u64};

/// A type in which residues are stored.
pub(super) trait Row: Pod + Debug + Send + Sync {
    /// The arithmetic for residues stored like this.
    type Target: Target;
    /// The type's name in CUDA source.
    const NAME: &'static str;

    fn get(self) -> <Self::Target as Target>::Residue;
    fn put(x: <Self::Target as Target>::Residue) -> Self;
}

macro_rules! rows {
    ($($store:ty = $name:literal),*) => {$(
        impl Row for $store {
            type Target = Divisor;
            const NAME: &'static str = $name;

            fn get(self) -> u64 {
                Stored::get(self)
            }
            fn put(x: u64) -> Self {
                Stored::put(x)
            }
        }
    )*};
}
rows!(u16 = "rf::u16", u32 = "rf::u32", u64 = "rf::u64");

/// Evaluates an expression with `$stored` as the type in which the residues of a ring are stored.
macro_rules! for_row {
    ($poly:expr, $stored:ident => $body:expr) => {
        match $poly.width() {
            ringforge_math::modulus::Width::W16 => {
                type $stored = u16;
                $body
            }
            ringforge_math::modulus::Width::W32 => {
                type $stored = u32;
                $body
            }
            ringforge_math::modulus::Width::W64 => {
                type $stored = u64;
                $body
            }
            ringforge_math::modulus::Width::W256 => {
                type $stored = ringforge_cpu::Limbs;
                $body
            }
        }
    };
}
pub(super) use for_row;

impl Row for Limbs {
    type Target = Divisor256;
    const NAME: &'static str = Divisor256::NAME;

    fn get(self) -> Self {
        self
    }
    fn put(x: Self) -> Self {
        x
    }
}

/// The reduction of a weighted sum of digits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sum {
    /// The sum has up to 32 bits and q is below 2^31: one Barrett reduction.
    Word(Barrett),
    /// The sum has up to 64 bits and q is at most 2^63: one Barrett reduction.
    Narrow(Barrett),
    /// The sum has up to 128 bits and is reduced once. In 256-bit arithmetic, it is reduced after every term.
    Wide,
}

/// Arithmetic modulo q on residues below q.
pub(super) trait Target: Copy + Debug + Send + Sync {
    type Residue: Pod + Debug + PartialEq + Send + Sync;
    /// A known factor, precomputed for products.
    type Factor: Debug + Pod + Send + Sync;
    /// The CUDA header of this arithmetic, and the type of a residue there.
    const HEADER: &'static str;
    const NAME: &'static str;

    fn new(q: &Modulus) -> Self;
    fn residue(x: &U256) -> Self::Residue;
    fn factor(q: &Modulus, c: &U256) -> Self::Factor;
    fn add(&self, a: Self::Residue, b: Self::Residue) -> Self::Residue;
    fn negate(&self, a: Self::Residue) -> Self::Residue;
    fn mul(&self, a: Self::Residue, c: &Self::Factor) -> Self::Residue;
    /// x·c mod q for any word x.
    fn mul_any(&self, x: Self::Residue, c: &Self::Factor) -> Self::Residue;
    fn is_above(a: Self::Residue, b: Self::Residue) -> bool;
    /// x mod p for a prime p of an auxiliary basis.
    fn remainder(x: Self::Residue, p: &Remainder) -> u64;
    /// The way to reduce `start` plus Σ digit·weight, given the largest digit for each weight. `None` if the sum may be
    /// too large.
    fn sum(q: &Modulus, start: Self::Residue, most: impl Iterator<Item = (u64, Self::Residue)>) -> Option<Sum>;
    fn add_up(
        &self,
        sum: &Sum,
        start: Self::Residue,
        terms: impl Iterator<Item = (u64, Self::Residue)>,
    ) -> Self::Residue;

    /// The modulus as words of a table (`Known` in `multiples.cuh`). A factor is stored there as its bytes.
    fn words(&self) -> Vec<u64>;

    /// A residue as a literal in CUDA source. The functions below return other literals, types and initializers.
    fn literal(x: &Self::Residue) -> String;
    fn factor_literal(c: &Self::Factor) -> String;
    fn type_name(&self) -> String;
    fn initializer(&self) -> String;
    fn sum_initializer(&self, sum: &Sum, start: &Self::Residue) -> String;
    fn remainder_type() -> &'static str;
    fn remainder_initializer(p: &Remainder) -> String;
}

/// Constants for remainders modulo a prime of an auxiliary basis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remainder {
    barrett: Barrett,
    divisor: Divisor,
}

impl Remainder {
    pub(super) fn new(p: u64) -> Self {
        Self { barrett: Barrett::new(p), divisor: Divisor::new(p) }
    }
}

impl Target for Divisor {
    type Residue = u64;
    type Factor = u64;
    const HEADER: &'static str = "crt.cuh";
    const NAME: &'static str = "rf::u64";

    fn new(q: &Modulus) -> Self {
        Self::new(low_u64(&q.value()))
    }

    fn residue(x: &U256) -> u64 {
        low_u64(x)
    }

    fn factor(_: &Modulus, c: &U256) -> u64 {
        low_u64(c)
    }

    fn add(&self, a: u64, b: u64) -> u64 {
        add_mod(a, b, self.d >> self.shift)
    }

    fn negate(&self, a: u64) -> u64 {
        self.negate(a)
    }

    fn mul(&self, a: u64, c: &u64) -> u64 {
        if *c == 1 { a } else { self.mul(a, *c) }
    }

    fn mul_any(&self, x: u64, c: &u64) -> u64 {
        self.mul(x, *c)
    }

    fn is_above(a: u64, b: u64) -> bool {
        a > b
    }

    fn remainder(x: u64, p: &Remainder) -> u64 {
        p.barrett.rem(x)
    }

    fn sum(q: &Modulus, start: u64, mut most: impl Iterator<Item = (u64, u64)>) -> Option<Sum> {
        let q = low_u64(&q.value());
        let term = |sum: u128, (digit, weight)| Some(sum.saturating_add(wide_mul(digit, weight)));
        let sum = most.try_fold(u128::from(start), term)?;
        match sum >> 64 {
            0 if sum >> 32 == 0 && q < 1 << 31 => Some(Sum::Word(Barrett::new(q))),
            0 if q <= 1 << 63 => Some(Sum::Narrow(Barrett::new(q))),
            above => (above < u128::from(q)).then_some(Sum::Wide),
        }
    }

    fn add_up(&self, sum: &Sum, start: u64, terms: impl Iterator<Item = (u64, u64)>) -> u64 {
        match sum {
            Sum::Word(barrett) | Sum::Narrow(barrett) => {
                barrett.rem(terms.fold(start, |sum, (digit, weight)| sum + digit * weight))
            }
            Sum::Wide => {
                let term = |sum, (digit, weight)| sum + wide_mul(digit, weight);
                self.rem(terms.fold(u128::from(start), term))
            }
        }
    }

    fn words(&self) -> Vec<u64> {
        vec![self.d, self.reciprocal, u64::from(self.shift)]
    }

    fn literal(x: &u64) -> String {
        format!("{x}ull")
    }

    fn factor_literal(c: &u64) -> String {
        format!("{c}ull")
    }

    fn type_name(&self) -> String {
        "rf::Divisor".into()
    }

    fn initializer(&self) -> String {
        self.initializer()
    }

    fn sum_initializer(&self, sum: &Sum, start: &u64) -> String {
        match sum {
            Sum::Word(_) => {
                let q = self.d >> self.shift;
                format!("rf::WordSum{{{start}u, {q}u, {}u}}", (1u64 << 32) / q)
            }
            Sum::Narrow(barrett) => format!("rf::NarrowSum{{{start}ull, {}}}", barrett.initializer()),
            Sum::Wide => format!("rf::WideSum{{{{{start}ull, 0}}, {}}}", self.initializer()),
        }
    }

    fn remainder_type() -> &'static str {
        "rf::Barrett"
    }

    fn remainder_initializer(p: &Remainder) -> String {
        p.barrett.initializer()
    }
}

fn wide_mul(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Target for Divisor256 {
    type Residue = Limbs;
    type Factor = Factor;
    const HEADER: &'static str = "divisor256.cuh";
    const NAME: &'static str = "rf::u256";

    fn new(q: &Modulus) -> Self {
        Self::new(q)
    }

    fn residue(x: &U256) -> Limbs {
        limbs(x)
    }

    fn factor(q: &Modulus, c: &U256) -> Factor {
        Self::factor(q, c)
    }

    fn add(&self, a: Limbs, b: Limbs) -> Limbs {
        self.add(&a, &b)
    }

    fn negate(&self, a: Limbs) -> Limbs {
        self.negate(&a)
    }

    fn mul(&self, a: Limbs, c: &Factor) -> Limbs {
        self.mul(&a, c)
    }

    fn mul_any(&self, x: Limbs, c: &Factor) -> Limbs {
        self.mul(&x, c)
    }

    fn is_above(a: Limbs, b: Limbs) -> bool {
        is_below(&b, &a)
    }

    fn remainder(x: Limbs, p: &Remainder) -> u64 {
        x.iter().rev().fold(0, |r, &limb| p.divisor.rem(u128::from(r) << 64 | u128::from(limb)))
    }

    /// The sum is reduced after each term, so it is never too large. `None` if a digit may be 2^62 or more.
    fn sum(_: &Modulus, _: Limbs, mut most: impl Iterator<Item = (u64, Limbs)>) -> Option<Sum> {
        most.all(|(digit, _)| digit >> 62 == 0).then_some(Sum::Wide)
    }

    fn add_up(&self, _: &Sum, start: Limbs, terms: impl Iterator<Item = (u64, Limbs)>) -> Limbs {
        terms.fold(start, |sum, (digit, weight)| self.mad(&sum, digit, &weight))
    }

    fn words(&self) -> Vec<u64> {
        self.words()
    }

    fn literal(x: &Limbs) -> String {
        divisor256::literal(x)
    }

    fn factor_literal(c: &Factor) -> String {
        let parts: Vec<String> = c.iter().map(divisor256::literal).collect();
        format!("Factor{{{{{}}}}}", parts.join(", "))
    }

    fn type_name(&self) -> String {
        self.type_name()
    }

    fn initializer(&self) -> String {
        self.initializer()
    }

    fn sum_initializer(&self, _: &Sum, start: &Limbs) -> String {
        format!("rf::Sum256<{}>{{{}, {}}}", self.bits, divisor256::literal(start), self.initializer())
    }

    fn remainder_type() -> &'static str {
        "rf::Divisor"
    }

    fn remainder_initializer(p: &Remainder) -> String {
        p.divisor.initializer()
    }
}
