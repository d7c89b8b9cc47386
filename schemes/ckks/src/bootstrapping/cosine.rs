//! The polynomial that bootstrapping evaluates: a cosine of a large interval.

use crate::error::Result;
use crate::polynomial::Polynomial;

/// Half of the length of the interval in which x lies, with a margin: |x| is at most 16.5, and a quarter is subtracted.
pub(super) const WIDTH: f64 = 1024.0 / 61.0;
/// A quarter, divided by [`WIDTH`].
const QUARTER: f64 = 61.0 / 4096.0;
/// How often the angle of the cosine is doubled.
const DOUBLINGS: usize = 3;

/// Coefficients of T_0, T_2, …, T_30 of u = (x − ¼)/[`WIDTH`] for cos(2π(x − ¼)/8), near integers x.
///
/// They minimise the mean square error at x = I + t, by least squares with 50 digits. I is an integer with |I| ≤ 16,
/// and t one of the Chebyshev nodes cos(π/6 + kπ/3)/2^13. I has the distribution of a rounded sum of 33 uniform numbers
/// in [−½, ½], but each I has a weight of at least 2^-60.
///
/// After the doublings, the error of the sine, divided by 2π, is 2^-46.8 as root mean square. It is at most 2^-38.7 for
/// |I| ≤ 8, and 2^-18 for |I| = 16, which has a probability of 2^-122 for each number.
const COEFFICIENTS: [f64; 16] = [
    0.21622624311740143,
    0.4417001098986084,
    0.40845573945681646,
    0.1650579201501185,
    -0.3352405583296817,
    -0.4230787928126349,
    0.5404405266672354,
    -0.26094383230856505,
    0.07531338257493816,
    -0.015026609907529362,
    0.002228115908584388,
    -0.00025960707780952274,
    2.3624253276821885e-05,
    -2.0183586689700217e-06,
    8.38680634744609e-08,
    -1.206688361548517e-08,
];

/// sin(2πx) as a polynomial of x/[`WIDTH`]: cos(2π(x − ¼)/8), doubled three times.
pub(super) fn polynomial() -> Result<Polynomial> {
    let coefficients: Vec<f64> = COEFFICIENTS.iter().flat_map(|c| [*c, 0.0]).collect();
    Ok(Polynomial::chebyshev(&coefficients, QUARTER - 1.0..=QUARTER + 1.0)?.doubled(DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use core::f64::consts::TAU;

    use super::*;

    /// The largest error of the sine near I, relative to q_0.
    fn error(polynomial: &Polynomial, i: i32) -> f64 {
        let near = (-8..=8).map(|k| f64::from(k) / 8.0 / 16384.0);
        let wrong = near.map(|t| (polynomial.value((f64::from(i) + t) / WIDTH) - (TAU * t).sin()).abs() / TAU);
        wrong.fold(0.0, f64::max)
    }

    #[test]
    fn the_sine_is_close_near_integers() -> Result<()> {
        let polynomial = polynomial()?;
        assert_eq!(polynomial.levels(), 8);
        for i in -16i32..=16 {
            // the doubles of this test have an error of about 2^-49
            let most = match i.abs() {
                0..=4 => -44.5,
                5..=8 => -38.5,
                9..=11 => -30.0,
                _ => -17.9,
            };
            assert!(error(&polynomial, i).log2() < most, "2^{} at {i}", error(&polynomial, i).log2());
        }
        Ok(())
    }
}
