//! Noise for decrypted numbers that others will see.

use ringforge::kernels::Distribution;
use ringforge::{Pipeline, U256, Value};

use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::steps::Level;

/// The standard deviation of a layer of noise, before its multiplier.
const LAYER: f64 = 64.0;
/// How many times the multiplier below a layer's may be: at most half of that deviation, so that the layers below fill the gaps
/// between multiples, to 2·e^(−2π²·64² / (1 + 32²)) < 2^-112 of any probability.
const STEP: u128 = 32;

/// Noise that decryption adds, so that decrypted numbers may be shown to others who chose what was computed: against
/// IND-CPA^D attacks (Li and Micciancio 2021), by the Gaussian mechanism of Li, Micciancio, Schultz and Sorrell 2022.
///
/// With a bound ε on the error of every number, τ decryptions in all and a statistical parameter s, each coefficient gets an
/// integer from a Gaussian of deviation σ ≥ ε·Δ·√(12τ)·2^(s/2), Δ the scale. All that is shown in τ decryptions, together,
/// has then a Kullback–Leibler divergence of at most 2^-s / 24, and so a statistical distance of at most 2^(-s/2) / √48, from
/// exact results with such noise, which hold nothing of the key: ε bounds the square mean over all slots, which is the
/// squared length of the error over Δ², and the divergence of a shift by e is |e|² / (2σ²).
///
/// The bound holds as ε does. It must hold for everything that is decrypted, whatever the numbers: derive it for the circuit
/// at its largest inputs; a measured error is no bound. Each item of a batch is a decryption, and the same ciphertext
/// decrypted again is another.
///
/// The noise is a sum of multiples of Gaussians of deviation 64, whose multipliers are each at most 32 times the one below:
/// it is within 2^-110 of a rounded Gaussian that has been widened, coefficient by coefficient, and all of its bits are
/// random. Time and addresses do not depend on it.
///
/// ```
/// use ringforge_ckks::{Flooding, Parameters};
///
/// // numbers that are off by 2^-30 at most, 1024 decryptions, 30 bits
/// let flooding = Flooding::new(f64::exp2(-30.0), 1024, 30)?;
/// let parameters = Parameters::new(14, &[60, 50, 50, 50], &[60])?;
/// assert!((flooding.deviation(&parameters).log2() - -1.2).abs() < 0.1); // costly: half of a bit is left
/// # Ok::<(), ringforge_ckks::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flooding {
    /// The deviation of a coefficient, over the scale.
    deviation: f64,
}

impl Flooding {
    /// For numbers that are off by at most `error` each (in absolute value, as complex numbers), so many decryptions with one
    /// secret key, and so many bits of statistical security.
    ///
    /// # Errors
    /// [`Error::Flooding`] for an error that is no positive number, no decryptions, and more than 128 bits.
    pub fn new(error: f64, decryptions: u64, bits: u32) -> Result<Self> {
        if !(error.is_finite() && error > 0.0) || decryptions == 0 || bits > 128 {
            return Err(Error::Flooding { why: "it wants an error above 0, decryptions, and at most 128 bits" });
        }
        Ok(Self { deviation: error * (12.0 * decryptions as f64).sqrt() * f64::exp2(f64::from(bits) / 2.0) })
    }

    /// The standard deviation that is wanted of what is added to each number, as a complex one: √N times that of a coefficient.
    /// What is added has up to an eighth more, and no less than 64 in each coefficient.
    #[must_use]
    pub fn deviation(&self, parameters: &Parameters) -> f64 {
        self.deviation * (parameters.degree() as f64).sqrt()
    }

    /// The multipliers of the layers at this scale and level, from the uppermost on; of few sizes, so that few programs are made.
    pub(crate) fn multipliers(&self, parameters: &Parameters, scale: f64, level: usize) -> Result<Vec<u128>> {
        let top = (self.deviation * scale / LAYER).max(1.0);
        // 14 deviations of each layer, and a bit for what is decrypted
        if (top * LAYER).log2() + 6.0 > parameters.bits_left(level).min(120.0) {
            return Err(Error::Flooding { why: "the noise would fill what is left of the modulus" });
        }
        let top = top.ceil() as u128;
        let next = |&upper: &u128| (upper > 1).then(|| upper.div_ceil(STEP));
        // four bits of it, rounded up
        let few = 1 << (u128::BITS - top.leading_zeros()).saturating_sub(4);
        Ok(core::iter::successors(Some(top.next_multiple_of(few)), next).collect())
    }
}

impl Level {
    /// Noise of these layers, as coefficients.
    pub(crate) fn flood<'p>(&self, p: &'p Pipeline, multipliers: &[u128], draws: Value<'p>) -> Option<Value<'p>> {
        let layer = |&multiplier: &u128| {
            let integers = p.sample(self.plaintext_type(), Distribution::Gaussian { sigma: LAYER }, draws).secret();
            let factors: Vec<U256> =
                self.plaintext_type().basis().iter().map(|q| q.reduce(&U256::from(multiplier))).collect();
            integers.scale(&factors)
        };
        multipliers.iter().map(layer).reduce(|sum, layer| sum + layer)
    }
}

#[cfg(test)]
mod tests {
    use ringforge::{Draws, Engine};

    use super::*;

    fn parameters() -> Result<Parameters> {
        Parameters::insecure(10, &[61, 61, 61], &[61])
    }

    #[test]
    fn layers_reach_the_deviation_and_little_more() -> Result<()> {
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

    /// Coefficients as drawn: their distribution, all bits of them, and nothing of one in another.
    #[test]
    fn noise_is_gaussian_and_random_in_all_bits() -> Result<()> {
        let parameters = parameters()?;
        let (engine, level) = (Engine::cpu(), Level::new(&parameters, 0)?);
        let wanted = f64::exp2(40.0);
        let layers = Flooding { deviation: wanted }.multipliers(&parameters, 1.0, 0)?;
        let deviation = layers.iter().map(|&c| (c as f64 * LAYER).powi(2)).sum::<f64>().sqrt();
        let p = engine.pipeline("noise");
        if let Some(noise) = level.flood(&p, &layers, p.input("draws")) {
            p.output("noise", noise);
        }
        let program = engine.compile(p)?;
        let items = 128;
        let mut words = vec![0u64; items * 1024];
        let draws = Draws::from_bytes(&[7; 32])?;
        program.on_host(items).input("draws", draws.as_bytes()).output("noise", &mut words).run()?;
        let q = parameters.q()[0].value_u64().unwrap_or(0);
        let noise: Vec<i64> = words.iter().map(|&x| if x > q / 2 { x as i64 - q as i64 } else { x as i64 }).collect();

        // 131072 of them: bounds are six deviations of what is counted
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
        // bits, and whether those of neighbours, and of the same place in the next item, agree
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
