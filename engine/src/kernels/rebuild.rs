//! From residues modulo the primes of an auxiliary basis to residues modulo q, by Garner's algorithm: constants and CPU
//! reference of `rebuild` in `crt.cuh`.

use crypto_bigint::U256;
use ringforge_cpu::choice::sub_once;

use crate::kernels::crt::{MAX_PRIMES, add_mod, choice, mul_hi, product};
use crate::kernels::target::{Sum, Target};
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::{Modulus, low_u64};

/// A prime p of an auxiliary basis, and its constants in [`Rebuild`].
#[derive(Debug, Clone)]
struct Digit<R> {
    p: u64,
    /// H mod p, where 2H + 1 is the product of all primes.
    offset: u64,
    /// The scale times the product of the primes before p, mod q.
    weight: R,
    /// For each prime before p, its inverse mod p with the Shoup quotient floor(2^64·inverse / p).
    inverses: Vec<(u64, u64)>,
}

/// Converts an integer x with |x| ≤ H to x·scale mod q, for a known constant `scale`. The input is x modulo ascending
/// primes, whose product is 2H + 1.
#[derive(Debug, Clone)]
pub(super) struct Rebuild<T: Target> {
    digits: Vec<Digit<T::Residue>>,
    /// −H·scale mod q, where 2H + 1 is the product of all primes.
    correction: T::Residue,
    sum: Sum,
    target: T,
}

impl<T: Target> Rebuild<T> {
    /// Precomputes the constants for primes in ascending order. There may be at most [`MAX_PRIMES`] primes, each odd
    /// and below 2^62.
    pub(super) fn new(primes: &[Modulus], q: &Modulus, scale: &U256) -> Result<Self> {
        let refuse = |why: &str| Error::Unsupported { job: format!("rebuilding from {primes:?}"), why: why.into() };
        if primes.is_empty() || primes.len() > MAX_PRIMES || primes.iter().any(|p| p.bits() > 62 || !p.is_odd()) {
            return Err(refuse("expected 1 to 9 odd primes below 2^62"));
        }
        let product = product(primes).ok_or_else(|| refuse("their product has more than 768 bits"))?;
        let half = product.shr_vartime(1);
        let correction = T::residue(&q.neg(&q.mul(&q.reduce_wide(&half), scale)));
        let mut weight = q.reduce(scale);
        let mut digits = Vec::with_capacity(primes.len());
        for (j, p) in primes.iter().enumerate() {
            let value = low_u64(&p.value());
            let inverse = |other: &Modulus| {
                let inverse = low_u64(&p.inverse(&p.reduce(&other.value()))?);
                Some((inverse, ((u128::from(inverse) << 64) / u128::from(value)) as u64))
            };
            let inverses: Option<Vec<_>> = primes[..j].iter().map(inverse).collect();
            digits.push(Digit {
                p: value,
                offset: low_u64(&p.reduce_wide(&half)),
                weight: T::residue(&weight),
                inverses: inverses.ok_or_else(|| refuse("two of them have a common factor"))?,
            });
            weight = q.mul(&weight, &q.reduce(&p.value()));
        }
        let most = digits.iter().map(|digit| (digit.p - 1, digit.weight));
        let sum = T::sum(q, correction, most)
            .ok_or_else(|| refuse("the sum of their digits has more than 64 bits above q"))?;
        Ok(Self { digits, correction, sum, target: T::new(q) })
    }

    /// Returns x·scale mod q, where `residue(j)` is x modulo the prime with index j.
    pub(super) fn rebuild(&self, residue: impl Fn(usize) -> u64) -> T::Residue {
        let mut digits = [0u64; MAX_PRIMES];
        for (j, digit) in self.digits.iter().enumerate() {
            let p = digit.p;
            let mut x = add_mod(residue(j), digit.offset, p);
            for (lower, &(inverse, quotient)) in digits.iter().zip(&digit.inverses) {
                let difference = x.wrapping_add(p.wrapping_sub(*lower));
                x = difference.wrapping_mul(inverse).wrapping_sub(mul_hi(difference, quotient).wrapping_mul(p));
            }
            digits[j] = sub_once(x, p);
        }
        let terms = digits.iter().zip(&self.digits).map(|(&x, digit)| (x, digit.weight));
        self.target.add_up(&self.sum, self.correction, terms)
    }

    /// The arithmetic modulo q.
    pub(super) fn target(&self) -> &T {
        &self.target
    }

    /// The members of the generated struct that `rebuild` in `crt.cuh` reads, except `prime`.
    pub(super) fn prelude(&self, word_bits: u32) -> String {
        let twiddle = |p: u64, inverse: u64| {
            let quotient = (u128::from(inverse) << word_bits) / u128::from(p);
            format!("M::Twiddle{{{inverse}ull, {quotient}ull}}")
                .replace("ull", if word_bits == 32 { "u" } else { "ull" })
        };
        let count = self.digits.len();
        let of_pairs = self.digits.iter().flat_map(|digit| {
            let missing = (digit.inverses.len()..count).map(|_| "M::Twiddle{0, 0}".to_string());
            digit.inverses.iter().map(|&(inverse, _)| twiddle(digit.p, inverse)).chain(missing)
        });
        let inverses = choice("M::Twiddle inverse(rf::u32 i, rf::u32 j)", &format!("j * {count} + i"), of_pairs);
        let offsets =
            choice("Word offset(rf::u32 j)", "j", self.digits.iter().map(|digit| format!("{}ull", digit.offset)));
        let weights =
            choice("Residue weight(rf::u32 j)", "j", self.digits.iter().map(|digit| T::literal(&digit.weight)));
        let sum = choice("auto sum()", "0", [self.target.sum_initializer(&self.sum, &self.correction)]);
        format!("{inverses}{offsets}{weights}{sum}")
    }
}
