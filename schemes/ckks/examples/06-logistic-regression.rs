//! Logistic regression on encrypted measurements: trained in the clear, evaluated on ciphertexts.
//!
//! There are 8192 samples of eight features. Each slot holds a sample, and each ciphertext a feature. The sigmoid is
//! approximated by a polynomial of degree 3.
//!
//! `cargo run --release -p ringforge-ckks --example 06-logistic-regression`

use ringforge_ckks::ringforge::Engine;
use ringforge_ckks::{Ckks, Complex64, Parameters, Polynomial, Randomness, Result};

const FEATURES: usize = 8;
/// Range [−6, 6] on which the sigmoid 1 / (1 + e^-z) is fitted by least squares: about 0.5 + 0.1967·z − 0.0025·z³.
const RANGE: f64 = 6.0;

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Returns the polynomial 0.5 + a·z + b·z³ that is closest to the sigmoid on the range.
fn fitted() -> Result<Polynomial> {
    let mut sums = [0.0; 5]; // sums of z², z⁴, z⁶, z·y, z³·y
    for i in 0..=1000 {
        let z = RANGE * (f64::from(i) / 500.0 - 1.0);
        let terms = [z * z, z.powi(4), z.powi(6), z * (sigmoid(z) - 0.5), z.powi(3) * (sigmoid(z) - 0.5)];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
    let [z2, z4, z6, zy, z3y] = sums;
    let determinant = z2 * z6 - z4 * z4;
    Polynomial::monomials(&[0.5, (zy * z6 - z3y * z4) / determinant, 0.0, (z3y * z2 - zy * z4) / determinant])
}

/// Returns random points in two clusters, and the class of each point: which cluster it is in.
fn samples(count: usize) -> (Vec<[f64; FEATURES]>, Vec<bool>) {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    let sample = |i: usize| {
        let class = i.is_multiple_of(2);
        let centre = |j: usize| if class == j.is_multiple_of(3) { 0.25 } else { -0.25 };
        (core::array::from_fn(|j| centre(j) + random() + random()), class)
    };
    (0..count).map(sample).unzip()
}

fn dot(weights: &[f64; FEATURES], bias: f64, sample: &[f64; FEATURES]) -> f64 {
    weights.iter().zip(sample).map(|(w, x)| w * x).sum::<f64>() + bias
}

/// Gradient descent on all samples; returns weights and bias.
fn trained(samples: &[[f64; FEATURES]], classes: &[bool]) -> ([f64; FEATURES], f64) {
    let (mut weights, mut bias) = ([0.0; FEATURES], 0.0);
    for _ in 0..100 {
        let (mut slope, mut offset) = ([0.0; FEATURES], 0.0);
        for (sample, class) in samples.iter().zip(classes) {
            let miss = f64::from(u8::from(*class)) - sigmoid(dot(&weights, bias, sample));
            slope.iter_mut().zip(sample).for_each(|(slope, x)| *slope += miss * x);
            offset += miss;
        }
        let rate = 2.0 / samples.len() as f64;
        weights.iter_mut().zip(slope).for_each(|(weight, slope)| *weight += rate * slope);
        bias += rate * offset;
    }
    (weights, bias)
}

fn main() -> Result<()> {
    let ckks = Ckks::new(&Engine::best(), Parameters::new(14, &[60, 40, 40, 40], &[60])?)?;
    println!("on {}", ckks.engine().device());
    let (samples, classes) = samples(ckks.parameters().slots());
    let (weights, bias) = trained(&samples, &classes);
    let fitted = fitted()?;

    // The owner of the measurements generates the keys and encrypts.
    let mut random = Randomness::system();
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let key = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let top = ckks.parameters().top_level();
    let column = |j: usize| samples.iter().map(|sample| Complex64::from(sample[j])).collect::<Vec<_>>();
    let encrypted = (0..FEATURES)
        .map(|j| ckks.encrypt(&ckks.encode(&[column(j)], top)?, &public, &mut random))
        .collect::<Result<Vec<_>>>()?;

    // The owner of the model evaluates the model on ciphertexts, without a secret key.
    let constants = weights.iter().map(|&weight| ckks.constant(weight, top, ckks.parameters().scale()));
    let constants = constants.collect::<Result<Vec<_>>>()?;
    let sum = ckks.inner_product_plain(&encrypted.iter().collect::<Vec<_>>(), &constants.iter().collect::<Vec<_>>())?;
    let z = ckks.add_number(&ckks.rescale(&sum)?, bias)?;
    let judged = ckks.evaluate(&fitted, &z, &key)?;

    // The owner of the measurements decrypts the result.
    let found = &ckks.decrypt(&judged, &secret)?[0];
    let plain = |sample| fitted.value(dot(&weights, bias, sample));
    let error = found.iter().zip(&samples).map(|(y, sample)| (y.re - plain(sample)).abs()).fold(0.0, f64::max);
    let right = found.iter().zip(&classes).filter(|(y, class)| (y.re > 0.5) == **class).count();
    let clear = samples.iter().zip(&classes).filter(|(x, class)| (dot(&weights, bias, x) > 0.0) == **class).count();
    println!("{right} of {} samples judged rightly, {clear} in the clear; error at most {error:.1e}", samples.len());
    assert!(error < 1e-5 && right.abs_diff(clear) <= 2);
    Ok(())
}
