//! Encoding in fixed point, for scales for which doubles have too few bits.
//!
//! It is the FFT of `embedding.rs` in integers of 128 bits: numbers have 100 fractional bits, and roots 126. Each layer
//! halves its results, so that no number grows. The error of a coefficient is about log2(N)·2^-100 before it is
//! multiplied by the scale.

use num_complex::{Complex, Complex64};
use ringforge::U256;
use zeroize::Zeroizing;

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::roots::{fixed_quarter, mul};

/// Fractional bits of numbers.
const FRACTION: i32 = 100;
/// Bound on the absolute value of numbers.
const MOST_NUMBER: f64 = (1u64 << 24) as f64;
/// log2 of the bound on the absolute value of coefficients.
const MOST_BITS: u32 = 120;

/// A complex number in fixed point.
type Fixed = Complex<i128>;

/// The coefficients of the polynomial with `numbers` in its slots, multiplied by `scale` and rounded to integers. All
/// working memory is wiped.
///
/// # Errors
/// [`Error::Number`] unless all numbers are below 2^24 and all coefficients below 2^120 in absolute value.
pub(crate) fn encode(embedding: &Embedding, numbers: &[Complex64], scale: f64) -> Result<Zeroizing<Vec<i128>>> {
    let count = embedding.count();
    let quarter = fixed_quarter(2 * count);
    // e^(iπt/N), in the first or in the second quarter
    let root = |t: usize| match t.checked_sub(count) {
        Some(above) if above > 0 => [-(quarter[above][1] as i128), quarter[above][0] as i128],
        _ => [quarter[t][0] as i128, quarter[t][1] as i128],
    };
    // in full, because a growing vector would leave copies of the plaintext in freed memory
    let mut x = Zeroizing::new(vec![[0; 2]; count]);
    for (x, &slot) in x.iter_mut().zip(&embedding.slots) {
        let number = numbers.get(slot as usize).copied().unwrap_or_default();
        *x = [fixed(number.re)?, fixed(number.im)?];
    }
    let mut half = 1;
    while half < count {
        for block in x.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (t, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let product = times_conjugate(complex(*b), root(t * (2 * count / half)));
                let a_was = complex(*a);
                *a = [(a_was.re + product.re) >> 1, (a_was.im + product.im) >> 1];
                *b = [(a_was.re - product.re) >> 1, (a_was.im - product.im) >> 1];
            }
        }
        half *= 2;
    }
    let mut coefficients = Zeroizing::new(vec![0; 2 * count]);
    let (re, im) = coefficients.split_at_mut(count);
    for (t, ((re, im), x)) in re.iter_mut().zip(im).zip(&*x).enumerate() {
        let z = times_conjugate(complex(*x), root(t));
        (*re, *im) = (scaled(z.re, scale)?, scaled(z.im, scale)?);
    }
    Ok(coefficients)
}

fn complex([re, im]: [i128; 2]) -> Fixed {
    Complex::new(re, im)
}

/// A number in fixed point.
fn fixed(x: f64) -> Result<i128> {
    match x.abs() < MOST_NUMBER {
        true => Ok((x * f64::from(FRACTION).exp2()).round_ties_even() as i128),
        false => Err(Error::Number),
    }
}

/// The product of a number and the conjugate of a root.
fn times_conjugate(x: Fixed, [cos, sin]: [i128; 2]) -> Fixed {
    Complex::new(times(x.re, cos) + times(x.im, sin), times(x.im, cos) - times(x.re, sin))
}

/// The product of a number and a part of a root, rounded towards zero.
fn times(x: i128, root: i128) -> i128 {
    let product = mul(x.unsigned_abs(), root.unsigned_abs()) as i128;
    if (x < 0) == (root < 0) { product } else { -product }
}

/// The product of a number and a scale of at least 1, rounded to the nearest integer, away from zero if there are two.
fn scaled(x: i128, scale: f64) -> Result<i128> {
    // scale = mantissa·2^exponent, with a mantissa of 53 bits
    let exponent = (scale.to_bits() >> 52) as i32 - 1075;
    let mantissa = scale.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let product = U256::from(x.unsigned_abs()).wrapping_mul(&U256::from(mantissa));
    let shift = FRACTION - exponent;
    // the product has at most 124 + 53 bits
    let rounded = match u32::try_from(shift) {
        Ok(0) => product,
        Ok(shift) => product.wrapping_add(&U256::ONE.shl_vartime(shift - 1)).shr_vartime(shift),
        Err(_) if product == U256::ZERO => product,
        Err(_) => return Err(Error::Number),
    };
    match rounded.bits() <= MOST_BITS {
        true => {
            let [low, high, ..] = rounded.to_words();
            let size = (i128::from(high) << 64) | i128::from(low);
            Ok(if x < 0 { -size } else { size })
        }
        false => Err(Error::Number),
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::*;
    use crate::roots::BITS;

    /// Compares coefficients with their definition, 2/N·Σ Re(z_j·ζ^(−5^j·t)) times the scale, in integers of any size.
    #[test]
    fn coefficients_are_those_of_the_definition() -> Result<()> {
        for (degree, scale) in [(16, 2f64.powi(90)), (64, 3.7e27), (256, 1000.5)] {
            let (embedding, slots) = (Embedding::new(degree), degree / 2);
            let part = |i: usize| ((i * 37 % 101) as f64 - 50.0) / 7.0;
            let numbers: Vec<Complex64> = (0..slots).map(|i| Complex64::new(part(i), part(i + 60))).collect();
            let found = encode(&embedding, &numbers, scale)?;
            let quarter = fixed_quarter(degree);
            let root = |t: usize| {
                let [cos, sin] = quarter[t % slots];
                match t / slots {
                    0 => [cos as i128, sin as i128],
                    1 => [-(sin as i128), cos as i128],
                    2 => [-(cos as i128), -(sin as i128)],
                    _ => [sin as i128, -(cos as i128)],
                }
            };
            // numbers times 2^100, roots times 2^126
            let big = |x: f64| BigInt::from((x * f64::from(FRACTION).exp2()) as i128);
            for (t, found) in found.iter().enumerate() {
                let (mut power, mut sum) = (1, BigInt::ZERO);
                for number in &numbers {
                    let [cos, sin] = root(power * t % (2 * degree));
                    sum += big(number.re) * cos + big(number.im) * sin;
                    power = power * 5 % (2 * degree);
                }
                // a multiple of 2^-20 of the scale
                let scaled = (sum * BigInt::from((scale * 1048576.0) as i128)) >> (FRACTION as u32 + BITS + 20);
                let wrong = scaled / BigInt::from(slots) - BigInt::from(*found);
                assert!(wrong.magnitude() < &2u32.into(), "{wrong} at {t} of {degree}");
            }
        }
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let embedding = Embedding::new(16);
        for (number, scale) in [(f64::NAN, 1.0), (2f64.powi(24), 1.0), (1.5, 2f64.powi(120)), (1.0, f64::MAX)] {
            let numbers = vec![Complex64::from(number); 8];
            assert_eq!(encode(&embedding, &numbers, scale).err(), Some(Error::Number), "{number} at {scale}");
        }
        assert!(encode(&embedding, &[], f64::MAX).is_ok());
    }
}
