//! Basis conversion from a few small moduli, with the sums of the module `sums`. [`Convert`](super::Convert) defines
//! digits and weights.

use super::column_range::ColumnRange;
use super::many::Many;
use crate::kernels::crt::{Stored, sub_mod};
use crate::kernels::sums::sum60::Row60;
use crate::kernels::sums::{LANES, Lanes, MOST, Row};
use ringforge_math::poly::PolyType;

/// Number of chunks of [`LANES`] coefficients that the CPU takes through all limbs together.
const CHUNKS: usize = 4;

#[derive(Debug, Clone)]
pub(super) struct Few<R> {
    exact: bool,
    centred: bool,
    /// [`Row60::bits`] of all sums.
    pub(super) sum_bits: u32,
    /// For each source modulus q_i, a [`Row`] whose sum is digit i = x_i·factor − Σ digit_j·weight_j·factor over j < i,
    /// modulo q_i. [`Many`] has the `factor` of each source. The constant is digit i of ⌊Q/2⌋, where Q is the product
    /// of the source moduli.
    sources: Vec<R>,
    /// For each target modulus p_j, a [`Row`] with the constant −Q·R mod p_j and the weights of all digits times R,
    /// where R is the target's Montgomery factor.
    targets: Vec<R>,
}

impl<R: Row> Few<R> {
    /// The same conversion as `many`. `None` unless all moduli are odd, and there are sums of as many numbers as there
    /// are source moduli.
    pub(super) fn of(many: &Many, from: &PolyType) -> Option<Self> {
        let moduli = many.sources.iter().map(|source| source.q);
        let all = moduli.clone().chain(many.targets.iter().map(|target| target.p));
        let modulus_bits = all.clone().map(bits).max()?;
        let any_word = from.accepts_any_word().then(|| 8 * from.width().bytes() as u32);
        let digit_bits = moduli.map(bits).chain(any_word).max()?;
        if !R::fits(many.sources.len(), digit_bits, modulus_bits) || all.clone().any(|q| q % 2 == 0 || q < 3) {
            return None;
        }
        let sum_bits = Row60::bits(many.sources.len(), digit_bits);
        let sources = many.sources.iter().enumerate().map(|(i, source)| {
            let divisor = source.before.divisor;
            let weight = |j| source.before.weights.get(j).map_or(0, |&weight| divisor.mul(weight, source.factor));
            let before = (0..i).map(|j| sub_mod(0, weight(j), source.q));
            R::new(source.q, sum_bits, source.half, before.chain([source.factor]))
        });
        let targets = many.targets.iter().map(|target| {
            let weights = target.digits.weights.iter().copied();
            R::new(target.p, sum_bits, 0, weights).with_first(sub_mod(0, target.product, target.p))
        });
        let (exact, centred) = (many.exact, many.centred);
        Some(Self { exact, centred, sum_bits, sources: sources.collect(), targets: targets.collect() })
    }

    /// The words that `convert.cu` reads, padded to `count` sources, of which the further ones have the weight 0.
    pub(super) fn words(&self, count: usize) -> Vec<u64> {
        let source = |(i, row): (usize, &R)| if self.exact { row.words(count) } else { row.known(i) };
        let mut words: Vec<u64> = self.sources.iter().enumerate().flat_map(source).collect();
        let none = self.sources.first().map(|row| R::new(row.modulus(), self.sum_bits, 0, [0]).known(0));
        (self.sources.len()..count).for_each(|_| words.extend(none.iter().flatten()));
        words.extend(self.targets.iter().flat_map(|row| row.words(count)));
        words
    }

    /// Converts the coefficients of `to` from source limbs of n residues each.
    #[inline(always)]
    pub(super) fn run<S: Stored, T: Stored>(&self, from: &[S], n: usize, to: ColumnRange<'_, T>) {
        let ColumnRange { first, columns, mut rows } = to;
        let mut digits = [[R::Numbers::default(); MOST]; CHUNKS];
        for start in (0..columns).step_by(LANES * CHUNKS) {
            let count = (LANES * CHUNKS).min(columns - start);
            let mut above_half = [[0; LANES]; CHUNKS];
            for (i, (row, from)) in self.sources.iter().zip(from.chunks_exact(n)).enumerate() {
                let from = from[first + start..][..count].chunks(LANES);
                for ((digits, above_half), from) in digits.iter_mut().zip(&mut above_half).zip(from) {
                    digits[i] = R::numbers(load(from));
                    let digit = row.sum([0; LANES], digits, if self.exact { 0 } else { i }..i + 1);
                    for (above, digit) in above_half.iter_mut().zip(digit) {
                        *above = u64::from(digit > row.constant()) | u64::from(digit == row.constant()) & *above;
                    }
                    digits[i] = R::numbers(digit);
                }
            }
            for (row, to) in self.targets.iter().zip(&mut rows) {
                let to = to[start..][..count].chunks_mut(LANES);
                for ((digits, above_half), to) in digits.iter().zip(&above_half).zip(to) {
                    let mut first = if self.centred { *above_half } else { [0; LANES] };
                    for first in &mut first {
                        *first = row.constant() & first.wrapping_neg();
                    }
                    store(row.sum(first, digits, 0..self.sources.len()), to);
                }
            }
        }
    }
}

#[inline(always)]
fn load<S: Stored>(from: &[S]) -> Lanes {
    let mut numbers = [0; LANES];
    match <&[S; LANES]>::try_from(from) {
        Ok(from) => {
            for lane in 0..LANES {
                numbers[lane] = from[lane].get();
            }
        }
        Err(_) => {
            for (number, x) in numbers.iter_mut().zip(from) {
                *number = x.get();
            }
        }
    }
    numbers
}

#[inline(always)]
fn store<T: Stored>(x: Lanes, to: &mut [T]) {
    match <&mut [T; LANES]>::try_from(&mut *to) {
        Ok(to) => {
            for lane in 0..LANES {
                to[lane] = T::put(x[lane]);
            }
        }
        Err(_) => {
            for (to, x) in to.iter_mut().zip(x) {
                *to = T::put(x);
            }
        }
    }
}

fn bits(x: u64) -> u32 {
    u64::BITS - x.leading_zeros()
}
