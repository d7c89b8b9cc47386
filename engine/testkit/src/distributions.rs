//! Checks of random elements: the distribution of errors in keys and ciphertexts.

use ringforge::kernels::Distribution;
use ringforge::{Buffer, Engine, Pipeline, Result, Value};

/// Pairs of a bound k and the probability of |e| ≤ k, for an error e of the rounded Gaussian distribution with σ = 3.19.
const WITHIN: [(f64, f64); 3] = [(0.0, 0.124_550), (3.0, 0.727_437), (6.0, 0.958_412)];

/// Centred representatives of these residues modulo q, in (−q/2, q/2].
#[must_use]
pub fn centred(words: &[u64], q: u64) -> Vec<f64> {
    words.iter().map(|&x| if x > q / 2 { -((q - x) as f64) } else { x as f64 }).collect()
}

/// Runs `steps` on the named inputs, whose result is an element modulo the prime q, of 33 to 61 bits; returns its centred
/// coefficients.
///
/// # Errors
/// The errors of the engine.
pub fn coefficients(
    engine: &Engine,
    q: u64,
    inputs: &[(&str, &Buffer)],
    steps: impl Fn(&Pipeline) -> Value<'_>,
) -> Result<Vec<f64>> {
    let p = engine.pipeline("coefficients");
    p.output("coefficients", steps(&p).inverse());
    let (program, stream) = (engine.compile(p)?, engine.stream()?);
    let bytes = program.plan().arg("coefficients").map_or(0, |arg| arg.bytes);
    let mut to = stream.secret_buffer(bytes)?;
    let call = program.on(stream, 1).output("coefficients", &mut to);
    inputs.iter().fold(call, |call, (name, buffer)| call.input(name, *buffer)).run()?;
    Ok(centred(&stream.download(&to)?, q))
}

/// Mean of the squares of samples.
#[must_use]
pub fn mean_square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64
}

/// Asserts that the fraction `found` / `count` of samples is `wanted`, within six standard deviations.
#[track_caller]
pub fn assert_share(found: usize, count: usize, wanted: f64) {
    let (found, deviation) = (found as f64 / count as f64, (wanted * (1.0 - wanted) / count as f64).sqrt());
    assert!((found - wanted).abs() < 6.0 * deviation, "{found} for {wanted}");
}

/// Asserts that the samples `e` have this distribution of errors: mean and variance within six standard deviations and,
/// for the Gaussian with σ = 3.19, also the fractions of small samples.
///
/// # Panics
/// If they do not, or if the distribution is neither Gaussian nor binomial.
#[track_caller]
pub fn assert_errors(e: &[f64], errors: Distribution) {
    let (count, variance) = (e.len() as f64, variance(errors));
    let mean = e.iter().sum::<f64>() / count;
    assert!(mean.abs() < 6.0 * (variance / count).sqrt(), "mean {mean}");
    let found = mean_square(e);
    assert!((found / variance - 1.0).abs() < 6.0 * (2.0 / count).sqrt(), "variance {found} for {variance}");
    if errors == (Distribution::Gaussian { sigma: 3.19 }) {
        for (bound, share) in WITHIN {
            assert_share(e.iter().filter(|e| e.abs() <= bound).count(), e.len(), share);
        }
    }
}

/// The variance of a rounded Gaussian or of a centred binomial distribution.
///
/// # Panics
/// If the distribution is another one.
#[must_use]
pub fn variance(errors: Distribution) -> f64 {
    match errors {
        Distribution::Gaussian { sigma } => sigma * sigma + 1.0 / 12.0,
        Distribution::Binomial { eta } => f64::from(eta) / 2.0,
        other => panic!("no distribution of errors: {other:?}"),
    }
}
