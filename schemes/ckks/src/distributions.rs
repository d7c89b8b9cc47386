//! Tests that keys and ciphertexts have the distributions of the scheme. Each test catches a fault that keeps
//! decryption correct but breaks security; `scripts/planted-faults.sh` plants these faults.

use ringforge::{Buffer, Engine, Pipeline, Value};

use crate::error::Result;
use crate::params::{Errors, Parameters};
use crate::programs::{Operation, bytes_of};
use crate::randomness::Randomness;
use crate::scheme::Ckks;
use crate::steps::{Level, Switch};
use crate::types::SecretKey;

/// Variances σ² of the rounded Gaussian with σ = 3.19 and of the centred binomial with η = 21.
const VARIANCES: [f64; 2] = [3.19 * 3.19 + 1.0 / 12.0, 10.5];
/// Pairs of a bound k and the probability of |e| ≤ k, for an error e of the rounded Gaussian distribution.
const WITHIN: [(f64, f64); 3] = [(0.0, 0.124_550), (3.0, 0.727_437), (6.0, 0.958_412)];

/// Parameters with N = 2^12, and with three key-switching digits of one prime each.
fn parameters(errors: Errors) -> Result<Parameters> {
    Ok(Parameters::insecure(12, &[50, 40, 40], &[50])?.with_errors(errors))
}

fn level(ckks: &Ckks) -> Result<&Level> {
    ckks.level(ckks.parameters().top_level())
}

/// Centred representatives of these residues modulo q, in (−q/2, q/2].
pub(crate) fn centred(words: &[u64], q: u64) -> Vec<f64> {
    words.iter().map(|&x| if x > q / 2 { -((q - x) as f64) } else { x as f64 }).collect()
}

/// Runs `steps` on a secret key and the named inputs; returns the centred coefficients of the result modulo q.
pub(crate) fn coefficients(
    ckks: &Ckks,
    q: u64,
    secret: &SecretKey,
    inputs: &[(&str, &Buffer)],
    steps: impl Fn(&Pipeline) -> Value<'_>,
) -> Result<Vec<f64>> {
    let p = ckks.engine().pipeline("coefficients");
    p.output("coefficients", steps(&p).inverse());
    let program = ckks.engine().compile(p)?;
    let stream = ckks.stream()?;
    let mut to = stream.secret_buffer(bytes_of(&program, "coefficients"))?;
    let call = program.on(stream, 1).input("s", &secret.buffer).output("coefficients", &mut to);
    inputs.iter().fold(call, |call, (name, buffer)| call.input(name, *buffer)).run()?;
    Ok(centred(&stream.download(&to)?, q))
}

/// c_0 + c_1·s modulo the first prime, for the ciphertext or public key at the input `name`. A public key is an
/// encryption of 0.
fn decrypted<'p>(level: &Level, p: &'p Pipeline, name: &str) -> Value<'p> {
    let ciphertext = level.ciphertext(p, name);
    let [c0, c1] = [0, 1].map(|part| ciphertext.element(part).limbs(0..1));
    c1 * level.secret(p).limbs(0..1) + c0
}

fn secret_coefficients(ckks: &Ckks, secret: &SecretKey) -> Result<Vec<f64>> {
    let program = ckks.program(Operation::SecretCoefficients, ckks.parameters().top_level(), 1)?;
    let stream = ckks.stream()?;
    let mut to = stream.secret_buffer(bytes_of(&program, "coefficients"))?;
    program.on(stream, 1).input("s", &secret.buffer).output("coefficients", &mut to).run()?;
    Ok(centred(&stream.download(&to)?, prime(ckks, 0)))
}

/// Returns a prime by its index in the basis: the primes of Q, then those of P.
pub(crate) fn prime(ckks: &Ckks, limb: usize) -> u64 {
    let parameters = ckks.parameters();
    parameters.q().iter().chain(parameters.p()).nth(limb).and_then(|q| q.value_u64()).unwrap_or(1)
}

fn mean_square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64
}

/// Asserts that the fraction `found` / `count` of samples is `wanted`, within six standard deviations.
#[track_caller]
fn assert_share(found: usize, count: usize, wanted: f64) {
    let (found, deviation) = (found as f64 / count as f64, (wanted * (1.0 - wanted) / count as f64).sqrt());
    assert!((found - wanted).abs() < 6.0 * deviation, "{found} for {wanted}");
}

/// Asserts that the samples `e` have the error distribution: mean and variance within six standard deviations and, for
/// the Gaussian, also the fractions of small samples.
#[track_caller]
pub(crate) fn assert_errors(e: &[f64], errors: Errors) {
    let (count, variance) = (e.len() as f64, VARIANCES[usize::from(errors == Errors::Binomial)]);
    let mean = e.iter().sum::<f64>() / count;
    assert!(mean.abs() < 6.0 * (variance / count).sqrt(), "mean {mean}");
    let found = mean_square(e);
    assert!((found / variance - 1.0).abs() < 6.0 * (2.0 / count).sqrt(), "variance {found} for {variance}");
    if errors == Errors::Gaussian {
        for (bound, share) in WITHIN {
            assert_share(e.iter().filter(|e| e.abs() <= bound).count(), e.len(), share);
        }
    }
}

#[test]
fn secret_keys_are_uniform_ternary() -> Result<()> {
    let ckks = Ckks::new(&Engine::cpu(), parameters(Errors::Gaussian)?)?;
    let s = secret_coefficients(&ckks, &ckks.secret_key(&mut Randomness::from_seed([3; 32]))?)?;
    for value in [-1.0, 0.0, 1.0] {
        assert_share(s.iter().filter(|s| **s == value).count(), s.len(), 1.0 / 3.0);
    }
    assert!(s.iter().all(|s| s.abs() <= 1.0));
    Ok(())
}

#[test]
fn public_keys_have_errors() -> Result<()> {
    for errors in [Errors::Gaussian, Errors::Binomial] {
        let ckks = Ckks::new(&Engine::cpu(), parameters(errors)?)?;
        let mut random = Randomness::from_seed([4; 32]);
        let secret = ckks.secret_key(&mut random)?;
        let public = ckks.public_key(&secret, &mut random)?;
        let level = level(&ckks)?;
        let e = coefficients(&ckks, prime(&ckks, 0), &secret, &[("c", &public.buffer)], |p| decrypted(level, p, "c"))?;
        assert_errors(&e, errors);
    }
    Ok(())
}

/// Tests the error distribution of each digit (b, a) of a switching key from a secret s' to s. Modulo the special prime
/// P, b + a·s is only the error, because the term of b that contains s' is a multiple of P.
#[test]
fn switching_keys_have_errors() -> Result<()> {
    for errors in [Errors::Gaussian, Errors::Binomial] {
        let ckks = Ckks::new(&Engine::cpu(), parameters(errors)?)?;
        let mut random = Randomness::from_seed([5; 32]);
        let secret = ckks.secret_key(&mut random)?;
        let level = level(&ckks)?;
        let (limbs, digits) = (4, ckks.parameters().digits());
        let last = limbs - 1..limbs;
        for switch in [Switch::Square, Switch::Automorphism(5)] {
            let key = ckks.switching_key(&secret, switch, ckks.top_level(), &mut random)?;
            for j in 0..digits {
                let e = coefficients(&ckks, prime(&ckks, limbs - 1), &secret, &[("key", &key.buffer)], |p| {
                    let keys = p.elements("key", &level.keys);
                    let part = |j: usize| keys.limbs(j * limbs + last.start..j * limbs + last.end);
                    let s = level.secret(p).limbs(last.clone());
                    part(digits + j) * s + part(j)
                })?;
                assert_errors(&e, errors);
            }
        }
    }
    Ok(())
}

/// Tests the variance of the noise in fresh ciphertexts, e·v + e_0 + e_1·s. s is the secret key, e is the error of the
/// public key, v is ternary, and e_0 and e_1 are the errors of the encryption.
#[test]
fn ciphertexts_have_all_their_noise() -> Result<()> {
    for errors in [Errors::Gaussian, Errors::Binomial] {
        let ckks = Ckks::new(&Engine::cpu(), parameters(errors)?)?;
        let mut random = Randomness::from_seed([6; 32]);
        let secret = ckks.secret_key(&mut random)?;
        let public = ckks.public_key(&secret, &mut random)?;
        let level = level(&ckks)?;
        let q = prime(&ckks, 0);
        let e = coefficients(&ckks, q, &secret, &[("c", &public.buffer)], |p| decrypted(level, p, "c"))?;
        let zero = ckks.constant(0.0, ckks.parameters().top_level(), ckks.parameters().scale())?;
        let mut noise = Vec::new();
        for _ in 0..8 {
            let c = ckks.encrypt(&zero, &public, &mut random)?;
            noise.extend(coefficients(&ckks, q, &secret, &[("c", c.buffer())], |p| decrypted(level, p, "c"))?);
        }
        let n = e.len() as f64;
        let variance = VARIANCES[usize::from(errors == Errors::Binomial)];
        let s = mean_square(&secret_coefficients(&ckks, &secret)?);
        let wanted = n * mean_square(&e) * 2.0 / 3.0 + variance * (1.0 + n * s);
        let found = mean_square(&noise);
        assert!((found / wanted - 1.0).abs() < 0.08, "variance {found} for {wanted}");
    }
    Ok(())
}

#[test]
fn system_randomness_never_repeats() -> Result<()> {
    let ckks = Ckks::new(&Engine::cpu(), parameters(Errors::Gaussian)?)?;
    let made = || {
        let mut random = Randomness::system();
        let secret = ckks.secret_key(&mut random)?;
        let public = ckks.public_key(&secret, &mut random)?;
        let zero = ckks.constant(0.0, 0, ckks.parameters().scale())?;
        let [first, second] = [(); 2].map(|()| ckks.encrypt(&zero, &public, &mut random));
        let (first, second) = (ckks.ciphertext_to_bytes(&first?)?, ckks.ciphertext_to_bytes(&second?)?);
        assert!(first != second, "two encryptions are equal");
        Ok::<_, crate::Error>((ckks.secret_key_to_bytes(&secret)?, public.seed))
    };
    let (one, other) = (made()?, made()?);
    assert!(one.0 != other.0, "two secret keys are equal");
    assert!(one.1 != other.1, "two public keys have the same seed");
    Ok(())
}

#[test]
fn other_keys_do_not_decrypt() -> Result<()> {
    let ckks = Ckks::new(&Engine::cpu(), parameters(Errors::Gaussian)?)?;
    let mut random = Randomness::from_seed([7; 32]);
    let [secret, other] = [(); 2].map(|()| ckks.secret_key(&mut random));
    let (secret, other) = (secret?, other?);
    let public = ckks.public_key(&secret, &mut random)?;
    let ones = ckks.constant(1.0, ckks.parameters().top_level(), ckks.parameters().scale())?;
    let c = ckks.encrypt(&ones, &public, &mut random)?;
    let near = |key| -> Result<usize> {
        let slots = &ckks.decrypt(&c, key)?[0];
        Ok(slots.iter().filter(|x| (**x - 1.0).norm() < 1.0).count())
    };
    assert_eq!((near(&secret)?, near(&other)?), (ckks.parameters().slots(), 0));
    Ok(())
}
