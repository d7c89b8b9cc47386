//! Distributions of small integers as cumulative thresholds for 128 random bits.
//!
//! The magnitude is the number of thresholds that are at most the 128 bits, read as an integer. The lowest bit is the
//! sign. Thresholds are even, so this bit affects nothing else. Threshold m is 2·round(2^127·P(|x| ≤ m)), and
//! thresholds equal to 2^128 are left out. So every probability is a multiple of 2^-128.

use crypto_bigint::{NonZero, U128, U512};
use rayon::prelude::*;

/// Thresholds of the ternary distribution: −1, 0 and 1, each with probability 1/3.
pub(super) fn ternary() -> Vec<u128> {
    vec![((1 << 127) / 3 + 1) << 1]
}

/// Thresholds of the centred binomial distribution: the difference of two sums of η fair bits, for η from 1 to 32. The
/// probabilities are exact.
pub(super) fn binomial(eta: u32) -> Vec<u128> {
    // binomial coefficients C(2η, k), for k from η on
    let middle = (1..=u128::from(eta)).fold(1, |choices, k| choices * (u128::from(eta) + k) / k);
    let further = |choices: &u128, k: u128| choices * (2 * u128::from(eta) - k) / (k + 1);
    let above = (u128::from(eta)..).scan(middle, |choices, k| {
        *choices = further(choices, k);
        Some(2 * *choices)
    });
    let sums = core::iter::once(middle).chain(above).scan(0, |sum, choices| {
        *sum += choices;
        Some(*sum)
    });
    sums.take(eta as usize).map(|sum| sum << (128 - 2 * eta)).collect()
}

/// Cut-off of the Gaussian in standard deviations; the tails beyond it have a probability below 2^-145.
const CUT: u64 = 14;

/// Thresholds of a Gaussian of mean 0 and standard deviation `sigma` (1/16 to 1024), rounded to the nearest integer.
///
/// All computations are in integers, so the thresholds are the same on all machines. Each threshold is rounded to
/// nearest, from a number whose error is below 2^-40.
pub(super) fn gaussian(sigma: f64) -> Vec<u128> {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = sigma.to_bits();
    let mantissa = bits & ((1 << MANTISSA) - 1) | 1 << MANTISSA;
    // σ = mantissa / 2^places
    let places = 1023 + MANTISSA - (bits >> MANTISSA) as u32;
    let end = U512::from(CUT).shl_vartime(FRACTION);
    let whole = NonZero::new(integral(&end)).into_option();
    let threshold = |m: u64| {
        // (m + 1/2) / σ
        let t = divided(&U512::from(2 * m + 1).shl_vartime(FRACTION - 1 + places), mantissa);
        let whole = whole.filter(|_| t < end)?;
        let threshold = integral(&t).shl_vartime(128).div_rem_vartime(&whole).0;
        Some(threshold.wrapping_add(&U512::ONE).shr_vartime(1).shl_vartime(1))
    };
    let last = (CUT as f64 * sigma) as u64;
    ringforge_cpu::threads::start();
    let thresholds = (0..=last).into_par_iter().filter_map(threshold);
    thresholds
        .filter(|threshold| threshold.bits_vartime() <= 128)
        .map(|x| x.resize::<{ U128::LIMBS }>().into())
        .collect()
}

/// Fractional bits of the fixed-point numbers of this file. Terms of [`integral`] are below 2^146, and their errors
/// grow in proportion.
const FRACTION: u32 = 320;

/// The integral of e^(−x²/2) from 0 to t, for t up to [`CUT`], by its power series:
/// Σ (−1)^k·t^(2k+1) / (2^k·k!·(2k + 1)).
fn integral(t: &U512) -> U512 {
    let square = product(t, t).shr_vartime(1);
    let (mut power, mut sum) = (*t, U512::ZERO);
    for k in 0.. {
        if power == U512::ZERO {
            break;
        }
        let term = divided(&power, 2 * k + 1);
        sum = if k % 2 == 0 { sum.wrapping_add(&term) } else { sum.wrapping_sub(&term) };
        power = divided(&product(&power, &square), k + 1);
    }
    sum
}

fn product(x: &U512, y: &U512) -> U512 {
    let (low, high) = x.widening_mul(y);
    low.shr_vartime(FRACTION).wrapping_add(&high.shl_vartime(U512::BITS - FRACTION))
}

fn divided(x: &U512, by: u64) -> U512 {
    NonZero::new(U512::from(by)).into_option().map_or(U512::ZERO, |by| x.div_rem_vartime(&by).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of each magnitude 0, 1, …, in units of 2^-128.
    fn probabilities(thresholds: &[u128]) -> Vec<u128> {
        let ends = thresholds.iter().copied().chain([0]); // 2^128 wraps to 0
        ends.scan(0, |before, end| Some(end.wrapping_sub(core::mem::replace(before, end)))).collect()
    }

    #[test]
    fn thresholds_ascend_and_are_even() {
        let gaussians = [0.0625, 0.5, 3.2, 100.25].map(gaussian);
        for thresholds in [vec![ternary()], (1..=32).map(binomial).collect(), gaussians.to_vec()].concat() {
            assert!(thresholds.is_sorted() && thresholds.iter().all(|x| x % 2 == 0 && *x > 0));
            let weights = probabilities(&thresholds);
            assert_eq!(weights.iter().fold(0u128, |sum, x| sum.wrapping_add(*x)), 0, "together 2^128");
        }
    }

    #[test]
    fn small_thresholds_match_hand_counts() {
        assert_eq!(probabilities(&ternary())[0].abs_diff(u128::MAX / 3), 1);
        assert_eq!(probabilities(&binomial(1)), [1 << 127, 1 << 127]);
        assert_eq!(probabilities(&binomial(2)), [6, 8, 2].map(|x| x << 124));
        assert_eq!(probabilities(&binomial(3)), [20, 30, 12, 2].map(|x| x << 122));
        // the magnitude 32 has two of the 2^64 outcomes
        assert_eq!(probabilities(&binomial(32))[32], 2 << 64);
    }

    /// Probabilities near the mean match numerical integrals of the Gaussian density, up to the precision of doubles.
    #[test]
    fn the_bulk_is_gaussian() {
        for sigma in [0.3, 1.0, 3.2, 6.4, 17.7, 300.0] {
            const STEPS: u32 = 2000;
            let density = |x: f64| (-x * x / (2.0 * sigma * sigma)).exp() / (sigma * core::f64::consts::TAU.sqrt());
            for (m, weight) in probabilities(&gaussian(sigma)).into_iter().enumerate().take((6.0 * sigma) as usize + 1)
            {
                let from = m as f64 - 0.5;
                let middle = |i: u32| from + (f64::from(i) + 0.5) / f64::from(STEPS);
                let one_side = (0..STEPS).map(|i| density(middle(i))).sum::<f64>() / f64::from(STEPS);
                let wanted = if m == 0 { one_side } else { 2.0 * one_side };
                let found = weight as f64 / 2f64.powi(128);
                assert!((found / wanted - 1.0).abs() < 1e-5, "sigma {sigma}, {m}: {found} and not {wanted}");
            }
        }
    }

    /// Probabilities in the tails match the asymptotic expansion of the complementary error function.
    #[test]
    fn the_tails_are_gaussian() {
        let thresholds = gaussian(3.2);
        assert_eq!(thresholds.len(), 42, "P(|x| > 42) is below 2^-129, half a step");
        for (m, threshold) in thresholds.iter().enumerate().skip(20) {
            let t = (m as f64 + 0.5) / 3.2;
            let series = [1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0];
            let series: f64 = series.iter().zip(0..).map(|(c, k)| c / t.powi(2 * k)).sum();
            let wanted = 2.0 * (-t * t / 2.0).exp() / (t * core::f64::consts::TAU.sqrt()) * series;
            let found = threshold.wrapping_neg() as f64 / 2f64.powi(128);
            assert!((found - wanted).abs() < 1e-4 * wanted + 2f64.powi(-127), "{m}: {found:e} and not {wanted:e}");
        }
    }
}
