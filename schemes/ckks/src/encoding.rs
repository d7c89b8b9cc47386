//! Encoding of complex numbers as polynomials with integer coefficients, and decoding.
//!
//! Slot j is the evaluation at ζ^(5^j), with ζ = e^(iπ/N). Modulo X^(N/2) − i, a real polynomial m modulo X^N + 1
//! becomes Σ z_t·X^t for t < N/2, with z_t = m_t + i·m_(t + N/2). The roots of X^(N/2) − i are the ζ^k with k ≡ 1 mod
//! 4, and modulo 2N these k are exactly the powers of 5. All slots together are therefore one complex FFT of length N/2
//! of the numbers z_t·ζ^t.

use std::sync::Arc;

use ringforge::Modulus;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Bound on the absolute value of encoded integers. Sums of a few such integers are then exact in 128 bits.
const MOST: f64 = (1u128 << 120) as f64;

/// FFTs between slots and coefficients for one degree.
pub(crate) struct Encoding {
    /// ζ^t for t < N/2, with ζ = e^(iπ/N).
    twist: Vec<Complex64>,
    /// Permutation of the slots: element j is the number u for which slot j is the evaluation at ζ^(4u + 1).
    places: Vec<usize>,
    to_slots: Arc<dyn Fft<f64>>,
    to_coefficients: Arc<dyn Fft<f64>>,
}

impl Encoding {
    pub(crate) fn new(degree: usize) -> Self {
        let slots = degree / 2;
        let angle = |t: usize| core::f64::consts::PI * t as f64 / degree as f64;
        let twist = (0..slots).map(|t| Complex64::cis(angle(t))).collect();
        let powers = core::iter::successors(Some(1), |power| Some(power * 5 % (2 * degree)));
        let places = powers.take(slots).map(|power| power / 4).collect();
        let mut planner = FftPlanner::new();
        let [to_slots, to_coefficients] = [planner.plan_fft_inverse(slots), planner.plan_fft_forward(slots)];
        Self { twist, places, to_slots, to_coefficients }
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
        transform(&*self.to_coefficients, values);
        for (value, twist) in values.iter_mut().zip(&self.twist) {
            *value *= twist.conj() * (scale / slots as f64);
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
            *value = Complex64::new(*re, *im) / scale * twist;
        }
        transform(&*self.to_slots, values);
        self.places.iter().map(|&place| values[place]).collect()
    }
}

/// Zeroed memory for `count` complex numbers, wiped on drop.
fn wiped(count: usize) -> Zeroizing<Vec<f64>> {
    Zeroizing::new(vec![0.0; 2 * count])
}

/// In-place FFT; wipes its scratch memory.
fn transform(fft: &dyn Fft<f64>, values: &mut [Complex64]) {
    let mut scratch = wiped(fft.get_inplace_scratch_len());
    fft.process_with_scratch(values, bytemuck::cast_slice_mut(&mut scratch));
}

/// Rounds to the nearest integer. Returns [`Error::Number`] unless its absolute value is below 2^120.
pub(crate) fn integer(x: f64) -> Result<i128> {
    let x = x.round();
    if x.abs() < MOST { Ok(x as i128) } else { Err(Error::Number) }
}

/// Reduces the integers of all items modulo each modulus. The residues are ordered by item, and in an item by modulus.
pub(crate) fn residues(items: &[Zeroizing<Vec<i128>>], moduli: &[Modulus]) -> Zeroizing<Vec<u64>> {
    let residue = |x: i128, q: u64| x.rem_euclid(i128::from(q)) as u64;
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
