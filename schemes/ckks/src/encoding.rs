//! Complex numbers as polynomials with integer coefficients, and back.
//!
//! Slot j is the value at ζ^(5^j), ζ = e^(iπ/N). Of a real polynomial m modulo X^N + 1, Σ (m_t + i·m_(t + N/2))·X^t, t < N/2, is
//! the same modulo X^(N/2) − i, whose roots are the ζ^k with k = 1 mod 4, and these are the powers of 5: so all slots are one
//! complex transform of length N/2, of coefficients times ζ^t.

use std::sync::Arc;

use ringforge::Modulus;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Integers beyond this are refused: sums of a few must be exact in 128 bits.
const MOST: f64 = (1u128 << 120) as f64;

/// The transforms between slots and coefficients of a degree.
pub(crate) struct Encoding {
    /// ζ^t.
    twist: Vec<Complex64>,
    /// Where the value at ζ^(4u + 1) stands among the slots: for slot j, u.
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

    /// The coefficients, times the scale and rounded, of the polynomial with these slots; slots that are left out are 0. Whatever
    /// memory held the numbers is wiped.
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
        // reserved as a whole: nothing is left behind where a vector grew
        let mut coefficients = Zeroizing::new(Vec::with_capacity(2 * slots));
        for part in parts {
            coefficients.push(integer(part)?);
        }
        Ok(coefficients)
    }

    /// The slots of a polynomial with these coefficients, which are times the scale.
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

/// Memory for `count` complex numbers, wiped on drop.
fn wiped(count: usize) -> Zeroizing<Vec<f64>> {
    Zeroizing::new(vec![0.0; 2 * count])
}

/// The transform in place, its scratch memory wiped.
fn transform(fft: &dyn Fft<f64>, values: &mut [Complex64]) {
    let mut scratch = wiped(fft.get_inplace_scratch_len());
    fft.process_with_scratch(values, bytemuck::cast_slice_mut(&mut scratch));
}

/// The nearest integer.
pub(crate) fn integer(x: f64) -> Result<i128> {
    let x = x.round();
    if x.abs() < MOST { Ok(x as i128) } else { Err(Error::Number) }
}

/// Integers modulo each of these, one item after another, and in it one modulus after another.
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

/// The integers of least absolute value with these residues modulo each of the moduli, as doubles.
///
/// By digits d_i of least absolute value to the mixed base q_0, q_0·q_1, …: the integer is small exactly where the digits
/// above are 0, so that nothing cancels.
pub(crate) fn integers(residues: &[u64], moduli: &[Modulus]) -> Vec<f64> {
    let moduli: Vec<u64> = moduli.iter().filter_map(Modulus::value_u64).collect();
    let mul = |a: u64, b: u64, q: u64| (u128::from(a) * u128::from(b) % u128::from(q)) as u64;
    // q_j^-1 modulo q_i
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
