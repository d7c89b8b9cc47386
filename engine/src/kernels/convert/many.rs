//! Basis conversion between any moduli of up to 64 bits. [`Convert`](super::Convert) defines digits and weights.

use super::column_range::ColumnRange;
use crate::job::Op;
use ringforge_cpu::choice::mask;
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::PolyType;

use crate::kernels::crt::{Divisor, Stored, sub_mod};
use crate::kernels::rns::{self, MAX_MODULI, Weighted};
use crypto_bigint::U256;
use ringforge_math::modulus::{Modulus, low_u64};

/// Number of coefficients that the CPU takes through all limbs together.
const TILE: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct Many {
    pub(super) exact: bool,
    pub(super) centred: bool,
    pub(super) sources: Vec<Source>,
    pub(super) targets: Vec<Target>,
    /// Whether the largest possible sum of all digits is at most 2^64.
    pub(super) narrow: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Source {
    /// Weights of the digits before this one, modulo q_i, times the Montgomery factor R of the source ring; none in a
    /// fast conversion.
    pub(super) before: Weighted,
    pub(super) q: u64,
    /// (weight_i·R)^-1 mod q_i, for the Montgomery factor R of the source ring.
    pub(super) factor: u64,
    /// The mixed-radix digit of ⌊Q/2⌋ for this modulus, where Q is the product of the source moduli.
    pub(super) half: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Target {
    /// Weights of all digits, modulo p_j, times the Montgomery factor R of the target ring.
    pub(super) digits: Weighted,
    pub(super) p: u64,
    /// Q·R mod p_j, where Q is the product of the source moduli and R the Montgomery factor of the target ring.
    pub(super) product: u64,
}

impl Many {
    /// # Errors
    /// [`Error::Unsupported`] if a modulus repeats in one of the rings or has more than 64 bits. Also for more than 64
    /// moduli, and for source moduli that are not coprime.
    pub(super) fn new(op: Op, from: &PolyType, to: &PolyType) -> Result<Self> {
        let (moduli, target_moduli) = (rns::basis(op, from)?, rns::basis(op, to)?);
        let exact = op != Op::ConvertFast;
        // weight_i·R modulo p
        let weight = |i: usize, p: u64, divisor: &Divisor, radix: u64| {
            let factors = moduli.iter().enumerate().filter(|&(j, _)| if exact { j < i } else { j != i });
            factors.fold(radix, |weight, (_, q)| divisor.mul(weight, q % p))
        };
        let half = half(&moduli);
        let source = |(i, modulus): (usize, &Modulus)| {
            let q = moduli[i];
            let (divisor, radix) = (Divisor::new(q), low_u64(&from.radix(modulus)));
            let weights = (0..if exact { i } else { 0 }).map(|i| weight(i, q, &divisor, radix)).collect();
            let factor = modulus.inverse(&U256::from(weight(i, q, &divisor, radix)));
            let factor = factor.ok_or_else(|| Error::unsupported(op, from, "its moduli are not coprime"))?;
            Ok(Source { before: Weighted { divisor, weights }, q, factor: low_u64(&factor), half: half[i] })
        };
        let sources = from.basis().iter().enumerate().map(source).collect::<Result<Vec<_>>>()?;
        let target = |(modulus, &p): (&Modulus, &u64)| {
            let (divisor, radix) = (Divisor::new(p), low_u64(&to.radix(modulus)));
            let weights = (0..moduli.len()).map(|i| weight(i, p, &divisor, radix)).collect();
            let product = moduli.iter().fold(radix, |product, q| divisor.mul(product, q % p));
            Target { digits: Weighted { divisor, weights }, p, product }
        };
        let targets: Vec<Target> = to.basis().iter().zip(&target_moduli).map(target).collect();
        let narrow = moduli.iter().map(|&q| u128::from(q - 1)).sum::<u128>() <= 1 << 64;
        Ok(Self { exact, centred: op == Op::ConvertCentred, sources, targets, narrow })
    }

    pub(super) fn words(&self) -> Vec<u64> {
        let sources = self.sources.iter().flat_map(|source| source.before.words(&[source.factor, source.half]));
        let targets = self.targets.iter().flat_map(|target| target.digits.words(&[target.product]));
        sources.chain(targets).collect()
    }

    /// Converts the coefficients of `to` from source limbs of n residues each.
    #[inline(always)]
    pub(super) fn run<S: Stored, T: Stored>(&self, from: &[S], n: usize, to: ColumnRange<'_, T>) {
        let ColumnRange { first, columns, mut rows } = to;
        let mut digits = [[0; MAX_MODULI]; TILE];
        for start in (0..columns).step_by(TILE) {
            let count = TILE.min(columns - start);
            // for each coefficient a mask: all ones if the integer that its digits so far represent exceeds that of the
            // same digits of ⌊Q/2⌋
            let mut above_half = [0; TILE];
            for (i, (Source { before, q, factor, half }, from)) in
                self.sources.iter().zip(from.chunks_exact(n)).enumerate()
            {
                let from = &from[first + start..][..count];
                for ((digits, above_half), x) in digits.iter_mut().zip(&mut above_half).zip(from) {
                    let x = sub_mod(x.get(), before.sum(&digits[..i]), *q);
                    let digit = before.divisor.mul(x, *factor);
                    *above_half = mask(digit > *half) | mask(digit == *half) & *above_half;
                    digits[i] = digit;
                }
            }
            for (Target { digits: weighted, p, product }, to) in self.targets.iter().zip(&mut rows) {
                let to = &mut to[start..][..count];
                let product = if self.centred { *product } else { 0 };
                for ((digits, above_half), to) in digits.iter().zip(&above_half).zip(to) {
                    let x = weighted.sum(&digits[..self.sources.len()]);
                    *to = T::put(sub_mod(x, product & above_half, *p));
                }
            }
        }
    }
}

/// The mixed-radix digits of ⌊Q/2⌋, from the top digit down. Each digit is ⌊q/2⌋ for its modulus q. An odd q leaves
/// half a unit, which is carried to the next lower digit; after an even q, the lower digits are 0.
fn half(moduli: &[u64]) -> Vec<u64> {
    let mut digits = vec![0; moduli.len()];
    for (digit, q) in digits.iter_mut().zip(moduli).rev() {
        *digit = q / 2;
        if q.is_multiple_of(2) {
            break;
        }
    }
    digits
}
