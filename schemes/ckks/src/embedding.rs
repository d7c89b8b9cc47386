//! The canonical embedding: constants and CPU references of the kernels that encode complex numbers as polynomials with
//! integer coefficients, and decode them.
//!
//! Slot j is the evaluation at ζ^(5^j), with ζ = e^(iπ/N). Modulo X^(N/2) − i, a real polynomial m modulo X^N + 1
//! becomes Σ z_t·X^t for t < N/2, with z_t = m_t + i·m_(t + N/2). The roots of X^(N/2) − i are the ζ^k with k ≡ 1 mod
//! 4, and modulo 2N these k are exactly the powers of 5. All slots together are therefore one complex FFT of length N/2
//! of the numbers z_t·ζ^t.
//!
//! The order of all operations is fixed and no multiplication is fused with an addition. Encoded integers and decoded
//! numbers therefore have the same bits on every device, and on every CPU with IEEE arithmetic in registers of 64 bits.

use core::fmt;
use core::ops::Range;

use num_complex::Complex64;
use ringforge::Modulus;

use crate::error::{Error, Result};
use crate::roots::quarter;

/// Bound on the absolute value of encoded integers. Sums of a few such integers are then exact in 128 bits.
pub(crate) const MOST: f64 = (1u128 << 120) as f64;

/// FFTs between slots and coefficients for one degree: radix-2 layers, decimated in frequency from coefficients to
/// bit-reversed slots (Gentleman–Sande), and mirrored on the way back (Cooley–Tukey). Elements are pairs of
/// coefficients, z_t.
pub(crate) struct Embedding {
    /// For the layer with butterflies between elements at distance h, from index h on, the roots e^(iπt/h) for t < h.
    /// From index N/2 on, ζ^t for t < N/2.
    pub(crate) roots: Vec<Complex64>,
    /// The slot of each element in bit-reversed order.
    pub(crate) slots: Vec<u32>,
}

impl Embedding {
    pub(crate) fn new(degree: usize) -> Self {
        let count = degree / 2;
        let quarter = quarter(degree);
        let mut slots = vec![0; count];
        let powers = core::iter::successors(Some(1), |power| Some(power * 5 % (2 * degree)));
        for (slot, power) in (0..).zip(powers.take(count)) {
            // the slot is the evaluation at ζ^(4u + 1)
            let u: usize = power / 4;
            slots[u.reverse_bits() >> (usize::BITS - count.ilog2())] = slot;
        }
        // e^(iπt/h) = ζ^(tN/h), in the first or in the second quarter
        let root = |h: usize, t: usize| match t * (degree / h) {
            first if first <= count => quarter[first],
            second => Complex64::new(-quarter[second - count].im, quarter[second - count].re),
        };
        let layers = (0..count.ilog2()).map(|layer| 1 << layer);
        let roots = core::iter::once(Complex64::ZERO).chain(layers.flat_map(|h| (0..h).map(move |t| root(h, t))));
        Self { roots: roots.chain(quarter[..count].iter().copied()).collect(), slots }
    }

    /// Number of slots, N/2.
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    /// ζ^t for t < N/2.
    pub(crate) fn twists(&self) -> &[Complex64] {
        &self.roots[self.count()..]
    }

    /// The layers at these distances of Σ_t x_t·e^(2πitu/n) for all u, in bit-reversed order. n is the number of
    /// elements.
    pub(crate) fn to_slots(&self, distances: Range<usize>, x: &mut [Complex64]) {
        for half in powers_of_two(distances).rev() {
            let roots = &self.roots[half..2 * half];
            for block in x.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), root) in low.iter_mut().zip(high).zip(roots) {
                    let difference = *a - *b;
                    (*a, *b) = (*a + *b, times(difference, *root));
                }
            }
        }
    }

    /// The layers at these distances of the inverse of [`Embedding::to_slots`], times n.
    pub(crate) fn to_coefficients(&self, distances: Range<usize>, x: &mut [Complex64]) {
        for half in powers_of_two(distances) {
            let roots = &self.roots[half..2 * half];
            for block in x.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), root) in low.iter_mut().zip(high).zip(roots) {
                    let product = times(*b, root.conj());
                    (*a, *b) = (*a + product, *a - product);
                }
            }
        }
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedding").field("slots", &self.count()).finish_non_exhaustive()
    }
}

/// The powers of two in a range of powers of two.
fn powers_of_two(range: Range<usize>) -> impl DoubleEndedIterator<Item = usize> {
    (range.start.ilog2()..range.end.ilog2()).map(|log| 1 << log)
}

/// The product, in four multiplications and two additions.
pub(crate) fn times(a: Complex64, b: Complex64) -> Complex64 {
    Complex64::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// Rounds to the nearest integer, to even if there are two. Returns `None` unless its absolute value is below `most`.
pub(crate) fn integer(x: f64, most: f64) -> Option<f64> {
    Some(x.round_ties_even()).filter(|x| x.abs() < most)
}

/// The integer in (−Q/2, Q/2] that is congruent to an integer x in [0, Q), as a double, for x, Q and ⌊Q/2⌋ in 64-bit
/// words, least significant first.
pub(crate) fn centred(x: &[u64], q: &[u64], half: &[u64]) -> f64 {
    let negative = x.iter().rev().gt(half.iter().rev());
    let (mut sum, mut power, mut borrow) = (0.0, 1.0, false);
    for (&x, &q) in x.iter().zip(q) {
        let (opposite, over) = q.overflowing_sub(x);
        let (opposite, again) = opposite.overflowing_sub(u64::from(borrow));
        borrow = over || again;
        sum += if negative { opposite } else { x } as f64 * power;
        power *= 2f64.powi(64);
    }
    if negative { -sum } else { sum }
}

/// Constants for residues modulo q < 2^63 of integers below 2^120 in absolute value.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Reduction {
    q: u64,
    /// ⌊2^64 / q⌋.
    ratio: u64,
    /// 2^64 mod q, and ⌊2^64·(2^64 mod q) / q⌋ for Shoup multiplication.
    upper: u64,
    quotient: u64,
}

impl Reduction {
    pub(crate) fn new(q: u64) -> Self {
        let upper = (1 << 64) % u128::from(q);
        let quotient = (upper << 64) / u128::from(q);
        Self { q, ratio: ((1 << 64) / u128::from(q)) as u64, upper: upper as u64, quotient: quotient as u64 }
    }

    /// The constants for each modulus. Moduli of more than 64 bits are omitted.
    pub(crate) fn of(moduli: &[Modulus]) -> Vec<Self> {
        moduli.iter().filter_map(Modulus::value_u64).map(Self::new).collect()
    }

    /// x mod q.
    pub(crate) fn residue(self, x: i128) -> u64 {
        let Self { q, ratio, upper, quotient } = self;
        let size = x.unsigned_abs();
        let (low, high) = (size as u64, (size >> 64) as u64);
        let mul_hi = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
        // a product of a and a constant, less an estimate of its quotient that is exact or one less
        let reduced = |a: u64, factor: u64, quotient: u64| {
            let rest = a.wrapping_mul(factor).wrapping_sub(mul_hi(a, quotient).wrapping_mul(q));
            rest - if rest >= q { q } else { 0 }
        };
        let sum = reduced(low, 1, ratio) + reduced(high, upper, quotient);
        let sum = sum - if sum >= q { q } else { 0 };
        if x < 0 && sum > 0 { q - sum } else { sum }
    }

    /// x mod q, for an integer x as a finite double. It must not be secret.
    pub(crate) fn residue_of(self, x: f64) -> u64 {
        const EXACT: u32 = 120;
        let shift = (x.abs().log2() as u32).saturating_sub(EXACT);
        // a double of more than 120 bits is divisible by 2^shift
        let small = self.residue((x / 2f64.powi(shift as i32)) as i128);
        (0..shift).fold(small, |residue, _| self.residue(2 * i128::from(residue)))
    }
}

/// The integer that `number` times `scale` rounds to.
///
/// # Errors
/// [`Error::Number`] unless its absolute value is below `most`.
pub(crate) fn scaled(number: f64, scale: f64, most: f64) -> Result<f64> {
    integer(number * scale, most).ok_or(Error::Number)
}

#[cfg(test)]
mod tests {
    use rustfft::FftPlanner;

    use super::*;

    #[test]
    fn slots_are_those_of_another_transform() {
        for degree in [16, 1 << 12, 1 << 16] {
            let (embedding, slots) = (Embedding::new(degree), degree / 2);
            let number = |i: usize| Complex64::new((i * 37 % 101) as f64 - 50.0, (i * 53 % 89) as f64 - 44.0) / 64.0;
            let numbers: Vec<Complex64> = (0..slots).map(number).collect();
            let mut elements: Vec<Complex64> =
                embedding.slots.iter().map(|&slot| numbers[slot as usize] / slots as f64).collect();
            embedding.to_coefficients(1..slots, &mut elements);
            let mut wanted = elements.clone();
            FftPlanner::new().plan_fft_inverse(slots).process(&mut wanted);
            embedding.to_slots(1..slots, &mut elements);
            let mut power = 1;
            for (slot, number) in numbers.iter().enumerate() {
                let place = embedding.slots.iter().position(|&other| other as usize == slot).expect("a place");
                let (found, wanted) = (elements[place], wanted[power / 4]);
                assert!((found - wanted).norm() < 1e-9 && (found - number).norm() < 1e-9, "{found} {wanted} {number}");
                power = power * 5 % (2 * degree);
            }
        }
    }

    #[test]
    fn residues_are_exact() {
        let numbers =
            [0, 1, -1, i128::from(u64::MAX), -i128::from(u64::MAX), i128::from(u64::MAX) + 1, 1 << 119, -(1 << 119)];
        for q in [3u64, 97, (1 << 30) - 35, (1 << 60) - 93, (1 << 61) - 1] {
            for x in numbers.into_iter().chain([(1 << 120) - 1, i128::from(q), -i128::from(q), 3 - i128::from(q)]) {
                assert_eq!(i128::from(Reduction::new(q).residue(x)), x.rem_euclid(i128::from(q)), "{x} modulo {q}");
            }
            // 2^exponent, and its negative
            let powers = (0..1024).scan(1 % q, |power, _| Some(core::mem::replace(power, *power * 2 % q)));
            for (exponent, power) in powers.enumerate() {
                let x = (exponent as f64).exp2();
                assert_eq!(Reduction::new(q).residue_of(x), power, "2^{exponent} modulo {q}");
                assert_eq!(Reduction::new(q).residue_of(-x), (q - power) % q, "-2^{exponent} modulo {q}");
            }
        }
    }

    #[test]
    fn integers_are_centred() {
        // Q = 2^64 + 13
        let (q, half) = ([13, 1], [(1 << 63) + 6, 0]);
        for (x, wanted) in [([7, 0], 7.0), ([(1 << 63) + 6, 0], 2f64.powi(63)), ([(1 << 63) + 7, 0], -2f64.powi(63))] {
            assert_eq!(centred(&x, &q, &half), wanted, "{x:?}");
        }
        assert_eq!(centred(&[12, 1], &q, &half), -1.0);
        assert_eq!(centred(&[u64::MAX, 0], &q, &half), -14.0);
    }
}
