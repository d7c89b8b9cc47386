//! Tests that keys and ciphertexts have the distributions of the scheme. Each test catches a fault that keeps
//! decryption correct but breaks security; `scripts/planted-faults.sh` plants these faults.

use std::sync::Arc;

use ringforge::{Buffer, Engine, Pipeline, Value};
use ringforge_testkit::distributions::{assert_errors, assert_share, mean_square, variance};

use crate::basis::Basis;
use crate::error::Result;
use crate::generator::KeyGenerator;
use crate::keys::{PublicKey, SecretKey};
use crate::params::{Errors, Parameters};
use crate::randomness::Randomness;

/// Keys for N = 2^12, and with three key-switching digits of one prime each.
fn keys(errors: Errors) -> Result<KeyGenerator> {
    KeyGenerator::new(&Engine::cpu(), Arc::new(Parameters::insecure(12, &[50, 40, 40], &[50])?.with_errors(errors)))
}

/// A prime by its index in the basis: the primes of Q, then those of P.
fn prime(keys: &KeyGenerator, limb: usize) -> u64 {
    let parameters = keys.parameters();
    parameters.q().iter().chain(parameters.p()).nth(limb).and_then(|q| q.value_u64()).unwrap_or(1)
}

/// The centred coefficients of a result modulo the prime of this limb.
fn coefficients(
    keys: &KeyGenerator,
    limb: usize,
    secret: &SecretKey,
    inputs: &[(&str, &Buffer)],
    steps: impl Fn(&Pipeline) -> Value<'_>,
) -> Result<Vec<f64>> {
    let inputs = [&[("s", secret.buffer())], inputs].concat();
    Ok(ringforge_testkit::distributions::coefficients(keys.engine(), prime(keys, limb), &inputs, steps)?)
}

/// c_0 + c_1·s modulo the first prime, for the ciphertext or public key at the input `name`. A public key is an
/// encryption of 0.
fn decrypted<'p>(basis: &Basis, p: &'p Pipeline, name: &str) -> Value<'p> {
    let ciphertext = basis.ciphertext(p, name);
    let [c0, c1] = [0, 1].map(|part| ciphertext.element(part).limbs(0..1));
    c1 * basis.secret(p).limbs(0..1) + c0
}

fn secret_coefficients(keys: &KeyGenerator, secret: &SecretKey) -> Result<Vec<f64>> {
    let basis = keys.basis(1)?;
    coefficients(keys, 0, secret, &[], |p| basis.secret(p).limbs(0..1))
}

#[test]
fn secret_keys_are_uniform_ternary() -> Result<()> {
    let keys = keys(Errors::Gaussian)?;
    let s = secret_coefficients(&keys, &keys.secret_key(&mut Randomness::from_seed([3; 32]))?)?;
    for value in [-1.0, 0.0, 1.0] {
        assert_share(s.iter().filter(|s| **s == value).count(), s.len(), 1.0 / 3.0);
    }
    assert!(s.iter().all(|s| s.abs() <= 1.0));
    Ok(())
}

#[test]
fn public_keys_have_errors() -> Result<()> {
    for errors in [Errors::Gaussian, Errors::Binomial] {
        let (keys, mut random) = (keys(errors)?, Randomness::from_seed([4; 32]));
        let secret = keys.secret_key(&mut random)?;
        let public = keys.public_key(&secret, &mut random)?;
        let basis = keys.basis(3)?;
        let e = coefficients(&keys, 0, &secret, &[("c", public.buffer())], |p| decrypted(&basis, p, "c"))?;
        assert_errors(&e, errors.distribution());
    }
    Ok(())
}

/// Tests the error distribution of each digit (b, a) of a switching key from a secret s' to s. Modulo the special prime
/// P, b + a·s is only the error, because the term of b that contains s' is a multiple of P.
#[test]
fn switching_keys_have_errors() -> Result<()> {
    for errors in [Errors::Gaussian, Errors::Binomial] {
        let (keys, mut random) = (keys(errors)?, Randomness::from_seed([5; 32]));
        let secret = keys.secret_key(&mut random)?;
        let (basis, limbs, digits) = (keys.basis(3)?, 4, keys.parameters().digits());
        let last = limbs - 1;
        let relinearises = keys.relinearisation_key(&secret, &mut random)?;
        let turns = keys.galois_keys(&secret, &[1], false, &mut random)?;
        let (_, turn) = turns.rotation(1)?.expect("a key");
        for key in [relinearises.buffer(), turn.buffer()] {
            for j in 0..digits {
                let e = coefficients(&keys, last, &secret, &[("key", key)], |p| {
                    let all = basis.switching_key(p, "key");
                    let part = |j: usize| all.limbs(j * limbs + last..j * limbs + last + 1);
                    part(digits + j) * basis.secret(p).limbs(last..limbs) + part(j)
                })?;
                assert_errors(&e, errors.distribution());
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
        let (keys, mut random) = (keys(errors)?, Randomness::from_seed([6; 32]));
        let secret = keys.secret_key(&mut random)?;
        let public = keys.public_key(&secret, &mut random)?;
        let basis = keys.basis(3)?;
        let phase = |buffer: &Buffer| coefficients(&keys, 0, &secret, &[("c", buffer)], |p| decrypted(&basis, p, "c"));
        let e = phase(public.buffer())?;
        let zero = encryption_of_zero(&keys, 3)?;
        let mut noise = Vec::new();
        for _ in 0..8 {
            noise.extend(phase(&zero(&public, &mut random)?)?);
        }
        let n = e.len() as f64;
        let variance = variance(errors.distribution());
        let s = mean_square(&secret_coefficients(&keys, &secret)?);
        let wanted = n * mean_square(&e) * 2.0 / 3.0 + variance * (1.0 + n * s);
        let found = mean_square(&noise);
        assert!((found / wanted - 1.0).abs() < 0.08, "variance {found} for {wanted}");
    }
    Ok(())
}

/// A function that encrypts 0 modulo the first `limbs` primes of Q.
fn encryption_of_zero(
    keys: &KeyGenerator,
    limbs: usize,
) -> Result<impl Fn(&PublicKey, &mut Randomness) -> Result<Buffer> + '_> {
    let bytes = keys.parameters().ciphertext_bytes(limbs);
    let zero = keys.stream()?.upload(&vec![0u8; bytes / 2])?;
    Ok(move |public: &PublicKey, random: &mut Randomness| {
        let mut to = keys.engine().device().buffer(bytes)?;
        keys.encrypt(&zero, (limbs, 1), public, random, &mut to)?;
        Ok(to)
    })
}

#[test]
fn system_randomness_never_repeats() -> Result<()> {
    let keys = keys(Errors::Gaussian)?;
    let made = || {
        let mut random = Randomness::system();
        let secret = keys.secret_key(&mut random)?;
        let public = keys.public_key(&secret, &mut random)?;
        let zero = encryption_of_zero(&keys, 1)?;
        let stream = keys.stream()?;
        let [first, second] = [(); 2].map(|()| zero(&public, &mut random));
        let (first, second) = (stream.download::<u8>(&first?)?, stream.download::<u8>(&second?)?);
        assert!(first != second, "two encryptions are equal");
        Ok::<_, crate::Error>((keys.secret_key_to_bytes(&secret)?, public.seed))
    };
    let (one, other) = (made()?, made()?);
    assert!(one.0 != other.0, "two secret keys are equal");
    assert!(one.1 != other.1, "two public keys have the same seed");
    Ok(())
}

#[test]
fn other_keys_do_not_decrypt() -> Result<()> {
    let (keys, mut random) = (keys(Errors::Gaussian)?, Randomness::from_seed([7; 32]));
    let [secret, other] = [(); 2].map(|()| keys.secret_key(&mut random));
    let (secret, other) = (secret?, other?);
    let public = keys.public_key(&secret, &mut random)?;
    let (zero, basis) = (encryption_of_zero(&keys, 1)?(&public, &mut random)?, keys.basis(1)?);
    let near = |key: &SecretKey| -> Result<usize> {
        let phase = coefficients(&keys, 0, key, &[("c", &zero)], |p| basis.phase(p, basis.ciphertext(p, "c")))?;
        Ok(phase.iter().filter(|x| x.abs() < f64::exp2(20.0)).count())
    };
    assert_eq!((near(&secret)?, near(&other)?), (keys.parameters().degree(), 0));
    Ok(())
}
