//! Noise flooding for decrypted numbers that are shown to other parties.

use ringforge::kernels::Distribution;
use ringforge::{Pipeline, U256, Value};

use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::steps::Level;

/// Standard deviation of the Gaussian of each noise layer, before multiplication by the layer's multiplier.
const LAYER: f64 = 64.0;
/// Largest ratio of a layer's multiplier to the next smaller one. A multiplier is then at most half of the standard
/// deviation of the next smaller layer, which thus fills the gaps between multiples of the multiplier. The relative
/// error of any probability is at most 2·e^(−2π²·64² / (1 + 32²)) < 2^-112.
const STEP: u128 = 32;

/// Noise added on decryption, so that results may be shown to parties who chose the computation.
///
/// Protects against IND-CPA^D attacks (Li and Micciancio 2021) by Gaussian noise flooding (Li, Micciancio, Schultz and
/// Sorrell 2022).
///
/// Let ε bound the error of every number, τ be the total number of decryptions, s the statistical security in bits and
/// Δ the scale. To each coefficient, an integer from a Gaussian of standard deviation σ ≥ ε·Δ·√(12τ)·2^(s/2) is added.
/// An ideal result is the exact result with noise of the same distribution, and reveals nothing about the key. The
/// results of all τ decryptions together have a Kullback–Leibler divergence of at most 2^-s / 24 from ideal results.
/// Their statistical distance is therefore at most 2^(-s/2) / √48. Proof sketch: let e be the coefficient vector of the
/// error. The mean of the squared errors over all slots is |e|² / Δ², and is at most ε². The divergence of a Gaussian
/// from the same Gaussian shifted by e is |e|² / (2σ²).
///
/// The guarantee is only as good as ε, which must hold for every decryption and all inputs. Derive ε for the circuit at
/// its largest inputs; a measured error is not a bound. Each item of a batch counts as a decryption, and so does each
/// repeated decryption of the same ciphertext.
///
/// The noise is a sum of multiples of Gaussians of standard deviation 64; each multiplier is at most 32 times the next
/// smaller one. The sum is within 2^-110 of a single rounded, wider Gaussian, independently for each coefficient, and
/// all of its bits are random. Timing and memory addresses do not depend on the noise.
///
/// ```
/// use ringforge_ckks::{Flooding, Parameters};
///
/// // errors of at most 2^-30, 1024 decryptions, 30 bits
/// let flooding = Flooding::new(f64::exp2(-30.0), 1024, 30)?;
/// let parameters = Parameters::new(14, &[60, 50, 50, 50], &[60])?;
/// assert!((flooding.deviation(&parameters).log2() - -1.2).abs() < 0.1); // costly: half a bit of precision is left
/// # Ok::<(), ringforge_ckks::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flooding {
    /// Standard deviation of the noise in a coefficient, divided by the scale.
    deviation: f64,
}

impl Flooding {
    /// Creates noise for these bounds. `error` bounds the absolute error of each number, as a complex number;
    /// `decryptions` counts all decryptions with one secret key; `bits` is the statistical security.
    ///
    /// # Errors
    /// [`Error::Flooding`] unless `error` is positive and finite, `decryptions` is at least 1, and `bits` is at most
    /// 128.
    pub fn new(error: f64, decryptions: u64, bits: u32) -> Result<Self> {
        if !(error.is_finite() && error > 0.0) || decryptions == 0 || bits > 128 {
            return Err(Error::Flooding {
                why: "`error` must be positive and finite, `decryptions` at least 1, and `bits` at most 128",
            });
        }
        Ok(Self { deviation: error * (12.0 * decryptions as f64).sqrt() * f64::exp2(f64::from(bits) / 2.0) })
    }

    /// Requested standard deviation of the noise of each number, as a complex number: √N times that of a coefficient.
    /// The actual deviation is up to an eighth larger, and at least 64 in each coefficient (before division by the
    /// scale).
    #[must_use]
    pub fn deviation(&self, parameters: &Parameters) -> f64 {
        self.deviation * (parameters.degree() as f64).sqrt()
    }

    /// Returns the multipliers of the noise layers at this scale and level, in descending order. The largest has at
    /// most four significant bits, because each list of multipliers needs its own compiled program. Returns
    /// [`Error::Flooding`] if the noise is too large for the modulus.
    pub(crate) fn multipliers(&self, parameters: &Parameters, scale: f64, level: usize) -> Result<Vec<u128>> {
        let top = (self.deviation * scale / LAYER).max(1.0);
        // The modulus must have room for 14 standard deviations of each layer, and one bit for the message.
        if (top * LAYER).log2() + 6.0 > parameters.bits_left(level).min(120.0) {
            return Err(Error::Flooding {
                why: "it is too large for the modulus: use a higher level, a smaller error bound or fewer bits",
            });
        }
        let top = top.ceil() as u128;
        let next = |&upper: &u128| (upper > 1).then(|| upper.div_ceil(STEP));
        // The largest multiplier is rounded up to four significant bits.
        let few = 1 << (u128::BITS - top.leading_zeros()).saturating_sub(4);
        Ok(core::iter::successors(Some(top.next_multiple_of(few)), next).collect())
    }
}

impl Level {
    /// Samples flooding noise as coefficients: the sum of one Gaussian layer for each multiplier. Returns `None`
    /// without multipliers.
    pub(crate) fn flood<'p>(&self, p: &'p Pipeline, multipliers: &[u128], random_key: Value<'p>) -> Option<Value<'p>> {
        let layer = |&multiplier: &u128| {
            let integers =
                p.sample(self.plaintext_type(), Distribution::Gaussian { sigma: LAYER }, random_key).secret();
            let factors: Vec<U256> =
                self.plaintext_type().basis().iter().map(|q| q.reduce(&U256::from(multiplier))).collect();
            integers.scale(&factors)
        };
        multipliers.iter().map(layer).reduce(|sum, layer| sum + layer)
    }
}

#[cfg(test)]
mod tests {
    use ringforge::{Engine, RandomKey};

    use super::*;

    fn parameters() -> Result<Parameters> {
        Parameters::insecure(10, &[61, 61, 61], &[61])
    }

    #[test]
    fn layers_add_up_to_the_deviation() -> Result<()> {
        let parameters = parameters()?;
        let mut seen = std::collections::BTreeSet::new();
        for tenth in 100..1100 {
            let deviation = f64::exp2(f64::from(tenth) / 10.0);
            let flooding = Flooding { deviation: deviation / 1024.0 };
            let layers = flooding.multipliers(&parameters, 1024.0, 2)?;
            let found = layers.iter().map(|&c| (c as f64 * LAYER).powi(2)).sum::<f64>().sqrt();
            assert!((1.0..1.127).contains(&(found / deviation)), "{deviation} {layers:?}");
            assert!(layers.is_sorted_by(|a, b| a > b && *a <= STEP * b) && layers.last() == Some(&1), "{layers:?}");
            seen.insert(layers);
        }
        assert!(seen.len() <= 8 * 101);
        let all = |deviation| Flooding { deviation }.multipliers(&parameters, 1.0, 0);
        assert_eq!(all(1.0), Ok(vec![1]));
        assert!(all(f64::exp2(54.0)).is_ok());
        assert!(matches!(all(f64::exp2(56.0)), Err(Error::Flooding { .. })));
        Ok(())
    }

    /// Tests sampled noise coefficients: their distribution, the balance of all bits, and the independence of bits.
    #[test]
    fn noise_is_gaussian_and_all_bits_are_random() -> Result<()> {
        let parameters = parameters()?;
        let (engine, level) = (Engine::cpu(), Level::new(&parameters, 0)?);
        let wanted = f64::exp2(40.0);
        let layers = Flooding { deviation: wanted }.multipliers(&parameters, 1.0, 0)?;
        let deviation = layers.iter().map(|&c| (c as f64 * LAYER).powi(2)).sum::<f64>().sqrt();
        let p = engine.pipeline("noise");
        if let Some(noise) = level.flood(&p, &layers, p.input("random_key")) {
            p.output("noise", noise);
        }
        let program = engine.compile(p)?;
        let items = 128;
        let mut words = vec![0u64; items * 1024];
        let random_key = RandomKey::from_bytes(&[7; 32])?;
        program.on_host(items).input("random_key", random_key.as_bytes()).output("noise", &mut words).run()?;
        let q = parameters.q()[0].value_u64().unwrap_or(0);
        let noise: Vec<i64> = words.iter().map(|&x| if x > q / 2 { x as i64 - q as i64 } else { x as i64 }).collect();

        // There are 131072 samples; each bound is six standard deviations of the statistic.
        let count = noise.len() as f64;
        let z = || noise.iter().map(|&x| x as f64 / deviation);
        let moment = |power: i32| z().map(|z| z.powi(power)).sum::<f64>() / count;
        for (power, wanted, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0f64)] {
            let found = moment(power);
            assert!((found - wanted).abs() < 6.0 * (variance / count).sqrt(), "moment {power}: {found}");
        }
        for (bound, inside) in [(0.5, 0.382_925), (1.0, 0.682_689), (2.0, 0.954_500), (3.0, 0.997_300)] {
            let found = z().filter(|z| z.abs() < bound).count() as f64 / count;
            assert!((found - inside).abs() < 6.0 * (inside * (1.0 - inside) / count).sqrt(), "{bound}: {found}");
        }
        // Each bit is balanced. It is uncorrelated with the same bit of the next coefficient, and with the same bit of
        // the same coefficient in the next item.
        for bit in 0..38 {
            let bits: Vec<bool> = noise.iter().map(|x| x >> bit & 1 == 1).collect();
            let half =
                |ones: usize| assert!((ones as f64 - count / 2.0).abs() < 3.0 * count.sqrt(), "bit {bit}: {ones}");
            half(bits.iter().filter(|bit| **bit).count());
            half(bits.iter().zip(bits.iter().cycle().skip(1)).filter(|(a, b)| a == b).count());
            half(bits.iter().zip(bits.iter().cycle().skip(1024)).filter(|(a, b)| a == b).count());
        }
        Ok(())
    }
}
