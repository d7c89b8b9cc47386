//! Encoding of complex numbers as polynomials with integer coefficients, and decoding.
//!
//! Slot j is the evaluation at ζ^(5^j), with ζ = e^(iπ/N). Modulo X^(N/2) − i, a real polynomial m modulo X^N + 1
//! becomes Σ z_t·X^t for t < N/2, with z_t = m_t + i·m_(t + N/2). The roots of X^(N/2) − i are the ζ^k with k ≡ 1 mod
//! 4, and modulo 2N these k are exactly the powers of 5. All slots together are therefore one complex FFT of length N/2
//! of the numbers z_t·ζ^t.
//!
//! The order of all operations is fixed and no multiplication is fused with an addition. Encoded integers and decoded
//! numbers therefore have the same bits on every machine with IEEE arithmetic in registers of 64 bits.

use num_complex::Complex64;
use ringforge::Modulus;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::roots::quarter;

/// Bound on the absolute value of encoded integers. Sums of a few such integers are then exact in 128 bits.
const MOST: f64 = (1u128 << 120) as f64;

/// FFTs between slots and coefficients for one degree: radix-2 layers, decimated in frequency from coefficients to
/// bit-reversed slots (Gentleman–Sande), and mirrored on the way back (Cooley–Tukey).
pub(crate) struct Encoding {
    /// ζ^t for t < N/2, with ζ = e^(iπ/N).
    twist: Vec<Complex64>,
    /// Permutation of the slots: element j is the bit reversal of the number u for which slot j is the evaluation at
    /// ζ^(4u + 1).
    places: Vec<usize>,
    /// For the layer with butterflies between elements at distance h, from index h on, the roots e^(iπt/h) for t < h.
    roots: Vec<Complex64>,
}

impl Encoding {
    pub(crate) fn new(degree: usize) -> Self {
        let slots = degree / 2;
        let quarter = quarter(degree);
        let powers = core::iter::successors(Some(1), |power| Some(power * 5 % (2 * degree)));
        let bits = slots.ilog2();
        let reversed = |u: usize| if bits == 0 { 0 } else { u.reverse_bits() >> (usize::BITS - bits) };
        let places = powers.take(slots).map(|power| reversed(power / 4)).collect();
        // e^(iπt/h) = ζ^(tN/h), in the first or in the second quarter
        let root = |h: usize, t: usize| match t * (degree / h) {
            first if first <= slots => quarter[first],
            second => Complex64::new(-quarter[second - slots].im, quarter[second - slots].re),
        };
        let layers = (0..bits).map(|layer| 1 << layer);
        let roots =
            core::iter::once(Complex64::ZERO).chain(layers.flat_map(|h| (0..h).map(move |t| root(h, t)))).collect();
        Self { twist: quarter[..slots].to_vec(), places, roots }
    }

    /// Returns the coefficients of the polynomial with `numbers` in its slots, multiplied by `scale` and rounded to
    /// integers. Missing slots are 0. All working memory is wiped. Returns [`Error::Slots`] if there are more numbers
    /// than slots, and [`Error::Number`] unless all coefficients are below 2^120 in absolute value.
    pub(crate) fn encode(&self, numbers: &[Complex64], scale: f64) -> Result<Zeroizing<Vec<i128>>> {
        let slots = self.places.len();
        if numbers.len() > slots {
            return Err(Error::Slots { slots, got: numbers.len() });
        }
        let mut memory = wiped(slots);
        let values: &mut [Complex64] = bytemuck::cast_slice_mut(&mut memory);
        for (number, &place) in numbers.iter().zip(&self.places) {
            values[place] = *number;
        }
        self.to_coefficients(values);
        let factor = scale / slots as f64;
        for (value, twist) in values.iter_mut().zip(&self.twist) {
            *value = times(*value, twist.conj()) * factor;
        }
        let parts = values.iter().map(|value| value.re).chain(values.iter().map(|value| value.im));
        // Reserved in full, because a growing vector would leave copies of the plaintext in freed memory.
        let mut coefficients = Zeroizing::new(Vec::with_capacity(2 * slots));
        for part in parts {
            coefficients.push(integer(part)?);
        }
        Ok(coefficients)
    }

    /// Returns the slots of the polynomial whose coefficients are `coefficients` divided by `scale`.
    pub(crate) fn decode(&self, coefficients: &[f64], scale: f64) -> Vec<Complex64> {
        let (real, imaginary) = coefficients.split_at(self.places.len());
        let mut memory = wiped(self.places.len());
        let values: &mut [Complex64] = bytemuck::cast_slice_mut(&mut memory);
        for (value, ((re, im), twist)) in values.iter_mut().zip(real.iter().zip(imaginary).zip(&self.twist)) {
            *value = times(Complex64::new(*re, *im) / scale, *twist);
        }
        self.to_slots(values);
        self.places.iter().map(|&place| values[place]).collect()
    }

    /// Σ_t x_t·e^(2πitu/n) for all u, in bit-reversed order. n is the number of elements.
    fn to_slots(&self, x: &mut [Complex64]) {
        let mut half = x.len() / 2;
        while half > 0 {
            let roots = &self.roots[half..2 * half];
            for block in x.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), root) in low.iter_mut().zip(high).zip(roots) {
                    let difference = *a - *b;
                    (*a, *b) = (*a + *b, times(difference, *root));
                }
            }
            half /= 2;
        }
    }

    /// The inverse of [`Encoding::to_slots`], times n.
    fn to_coefficients(&self, x: &mut [Complex64]) {
        let mut half = 1;
        while half < x.len() {
            let roots = &self.roots[half..2 * half];
            for block in x.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), root) in low.iter_mut().zip(high).zip(roots) {
                    let product = times(*b, root.conj());
                    (*a, *b) = (*a + product, *a - product);
                }
            }
            half *= 2;
        }
    }
}

/// The product, in four multiplications and two additions.
fn times(a: Complex64, b: Complex64) -> Complex64 {
    Complex64::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// Zeroed memory for `count` complex numbers, wiped on drop.
fn wiped(count: usize) -> Zeroizing<Vec<f64>> {
    Zeroizing::new(vec![0.0; 2 * count])
}

/// Rounds to the nearest integer, to even if there are two. Returns [`Error::Number`] unless its absolute value is below
/// 2^120.
pub(crate) fn integer(x: f64) -> Result<i128> {
    let x = x.round_ties_even();
    if x.abs() < MOST { Ok(x as i128) } else { Err(Error::Number) }
}

/// Reduces the integers of all items modulo each modulus. The residues are ordered by item, and in an item by modulus.
pub(crate) fn residues(items: &[Zeroizing<Vec<i128>>], moduli: &[Modulus]) -> Zeroizing<Vec<u64>> {
    // a division of 128 bits takes several times as long as one of 64
    let residue = |x: i128, q: u64| match u64::try_from(x.unsigned_abs()) {
        Ok(small) if x < 0 => (q - small % q) % q,
        Ok(small) => small % q,
        Err(_) => x.rem_euclid(i128::from(q)) as u64,
    };
    let count: usize = items.iter().map(|item| item.len() * moduli.len()).sum();
    let mut words = Zeroizing::new(Vec::with_capacity(count));
    for item in items {
        for q in moduli.iter().filter_map(Modulus::value_u64) {
            words.extend(item.iter().map(|&x| residue(x, q)));
        }
    }
    words
}

/// Centred CRT reconstruction: the integers of least absolute value with these residues, as doubles. `residues` holds
/// the residues of all integers modulo the first modulus, then those modulo the second, and so on.
///
/// Garner's algorithm with balanced mixed-radix digits d_i: x = d_0 + d_1·q_0 + d_2·q_0·q_1 + …, for the moduli q_i.
/// The upper digits of a small integer are exactly 0, so the floating-point sum has no cancellation.
pub(crate) fn integers(residues: &[u64], moduli: &[Modulus]) -> Vec<f64> {
    let moduli: Vec<u64> = moduli.iter().filter_map(Modulus::value_u64).collect();
    let mul = |a: u64, b: u64, q: u64| (u128::from(a) * u128::from(b) % u128::from(q)) as u64;
    // q_j^-1 modulo q_i, by Fermat's little theorem.
    let inverse = |j: usize, i: usize| {
        let (mut power, mut base, mut left) = (1, moduli[j] % moduli[i], moduli[i] - 2);
        while left > 0 {
            if left & 1 == 1 {
                power = mul(power, base, moduli[i]);
            }
            (base, left) = (mul(base, base, moduli[i]), left >> 1);
        }
        power
    };
    let inverses: Vec<Vec<u64>> = (0..moduli.len()).map(|i| (0..i).map(|j| inverse(j, i)).collect()).collect();
    let count = residues.len() / moduli.len().max(1);
    let mut digits: Zeroizing<Vec<i64>> = Zeroizing::new(Vec::with_capacity(moduli.len()));
    let mut integer = |k: usize| {
        digits.clear();
        for (i, &q) in moduli.iter().enumerate() {
            let mut rest = residues[i * count + k];
            for (&digit, &inverse) in digits.iter().zip(&inverses[i]) {
                rest = mul((rest + q - digit.rem_euclid(q as i64) as u64) % q, inverse, q);
            }
            digits.push(if rest > q / 2 { rest as i64 - q as i64 } else { rest as i64 });
        }
        digits.iter().zip(&moduli).rev().fold(0.0, |sum, (digit, q)| sum * *q as f64 + *digit as f64)
    };
    (0..count).map(&mut integer).collect()
}

#[cfg(test)]
mod tests {
    use rustfft::FftPlanner;

    use super::*;

    #[test]
    fn slots_are_those_of_another_transform() -> Result<()> {
        for degree in [4, 8, 1 << 12, 1 << 16] {
            let (encoding, slots) = (Encoding::new(degree), degree / 2);
            let number = |i: usize| Complex64::new((i * 37 % 101) as f64 - 50.0, (i * 53 % 89) as f64 - 44.0) / 64.0;
            let numbers: Vec<Complex64> = (0..slots).map(number).collect();
            let scale = (1u64 << 45) as f64;
            let coefficients = encoding.encode(&numbers, scale)?;
            let doubles: Vec<f64> = coefficients.iter().map(|&x| x as f64).collect();
            let mut wanted: Vec<Complex64> = (0..slots)
                .map(|t| Complex64::new(doubles[t], doubles[t + slots]) / scale * encoding.twist[t])
                .collect();
            FftPlanner::new().plan_fft_inverse(slots).process(&mut wanted);
            let decoded = encoding.decode(&doubles, scale);
            let mut power = 1;
            for (found, number) in decoded.iter().zip(&numbers) {
                let wanted = wanted[power / 4];
                assert!((found - wanted).norm() < 1e-9 && (found - number).norm() < 1e-9, "{found} {wanted} {number}");
                power = power * 5 % (2 * degree);
            }
        }
        Ok(())
    }

    #[test]
    fn residues_are_exact() {
        let numbers =
            [0, 1, -1, i128::from(u64::MAX), -i128::from(u64::MAX), i128::from(u64::MAX) + 1, 1 << 119, -(1 << 119)];
        for q in [3u64, 97, (1 << 60) - 93] {
            let found = residues(&[Zeroizing::new(numbers.to_vec())], &[Modulus::new(q).expect("a modulus")]);
            let wanted: Vec<u64> = numbers.iter().map(|x| x.rem_euclid(i128::from(q)) as u64).collect();
            assert_eq!(*found, wanted);
        }
    }
}
