//! Tests of all operations: decrypted results against the same arithmetic on integers.

use ringforge::Engine;
use ringforge_bfv::{Bfv, Ciphertext, Error, Errors, GaloisKeys, Parameters, PublicKey, Randomness};
use ringforge_bfv::{RelinearisationKey, Result, SecretKey};
use ringforge_testkit::{Random, seed};

/// The rotations for which [`Scheme`] has keys.
pub(crate) const ROTATIONS: [i64; 4] = [1, 2, -3, 5];

/// A scheme with all its keys and a source of randomness.
pub(crate) struct Scheme {
    pub(crate) bfv: Bfv,
    pub(crate) secret: SecretKey,
    pub(crate) public: PublicKey,
    pub(crate) relinearise: RelinearisationKey,
    pub(crate) turn: GaloisKeys,
    pub(crate) random: Randomness,
}

impl Scheme {
    pub(crate) fn new(engine: &Engine, parameters: Parameters) -> Result<Self> {
        let bfv = Bfv::new(engine, parameters)?;
        let mut random = Randomness::from_seed([7; 32]);
        let secret = bfv.keys().secret_key(&mut random)?;
        let public = bfv.keys().public_key(&secret, &mut random)?;
        let relinearise = bfv.keys().relinearisation_key(&secret, &mut random)?;
        let turn = bfv.keys().galois_keys(&secret, &ROTATIONS, true, &mut random)?;
        Ok(Self { bfv, secret, public, relinearise, turn, random })
    }

    pub(crate) fn encrypt(&mut self, items: &[Vec<u64>]) -> Result<Ciphertext> {
        self.bfv.encrypt(&self.bfv.encode(items)?, &self.public, &mut self.random)
    }

    /// Full items of integers below t; the first ones have the largest and the smallest.
    pub(crate) fn integers(&self, random: &mut Random, batch: usize) -> Vec<Vec<u64>> {
        let (slots, t) = (self.bfv.parameters().slots(), self.bfv.parameters().t());
        let mut items: Vec<Vec<u64>> =
            (0..batch).map(|_| (0..slots).map(|_| random.below(t as usize) as u64).collect()).collect();
        (items[0][0], items[0][1], items[0][2]) = (t - 1, 0, t / 2);
        items
    }
}

pub(crate) fn each(a: &[Vec<u64>], b: &[Vec<u64>], f: impl Fn(u64, u64) -> u64) -> Vec<Vec<u64>> {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()).collect()
}

/// Both rows of each item, rotated to the left.
pub(crate) fn rotated(a: &[Vec<u64>], steps: i64) -> Vec<Vec<u64>> {
    let left = |row: &[u64]| {
        let (front, back) = row.split_at(steps.rem_euclid(row.len() as i64) as usize);
        [back, front].concat()
    };
    a.iter().map(|item| item.chunks_exact(item.len() / 2).flat_map(left).collect()).collect()
}

/// The rows of each item exchanged.
pub(crate) fn exchanged(a: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let rows = |item: &Vec<u64>| item.chunks_exact(item.len() / 2).rev().flatten().copied().collect();
    a.iter().map(rows).collect()
}

pub(crate) fn add(t: u64) -> impl Fn(u64, u64) -> u64 {
    move |x, y| ((u128::from(x) + u128::from(y)) % u128::from(t)) as u64
}

pub(crate) fn sub(t: u64) -> impl Fn(u64, u64) -> u64 {
    move |x, y| ((u128::from(x) + u128::from(t - y)) % u128::from(t)) as u64
}

pub(crate) fn mul(t: u64) -> impl Fn(u64, u64) -> u64 {
    move |x, y| (u128::from(x) * u128::from(y) % u128::from(t)) as u64
}

/// Parameters with 64-bit and with 32-bit words, small and large plaintext moduli, one and several key-switching digits, a
/// shorter last digit, and primes of both widths.
fn parameters() -> Result<Vec<Parameters>> {
    let largest = |log_n| Parameters::plain_modulus(log_n, 60);
    Ok(vec![
        Parameters::insecure(10, 65537, &[55, 55, 55], &[56])?,
        Parameters::insecure(8, largest(8)?, &[60; 5], &[61, 61])?,
        Parameters::insecure(9, 12289, &[50, 50, 50], &[50, 50, 50])?.with_errors(Errors::Binomial),
        Parameters::insecure(9, 18433, &[31, 31, 31, 30, 29], &[31, 31])?,
        Parameters::insecure(6, 786_433, &[50, 31, 45], &[51])?,
        Parameters::insecure(4, 97, &[40], &[41])?,
        Parameters::insecure(5, Parameters::plain_modulus(5, 32)?, &[31, 31, 31, 30], &[32])?,
    ])
}

#[test]
fn every_operation_is_exact() -> Result<()> {
    let mut numbers = Random::new(seed());
    for parameters in parameters()? {
        let about = format!("{parameters:?}");
        let (mut scheme, t, batch) = (Scheme::new(&Engine::cpu(), parameters.clone())?, parameters.t(), 3);
        let [x, y] = [0, 1].map(|_| scheme.integers(&mut numbers, batch));
        let (a, b) = (scheme.encrypt(&x)?, scheme.encrypt(&y)?);
        let bfv = scheme.bfv.clone();
        let check = |what: &str, found: &Ciphertext, wanted: &[Vec<u64>]| -> Result<()> {
            assert!(bfv.decrypt(found, &scheme.secret)? == wanted, "{what} for {about}");
            Ok(())
        };
        check("a fresh ciphertext", &a, &x)?;
        check("a sum", &bfv.add(&a, &b)?, &each(&x, &y, add(t)))?;
        check("a difference", &bfv.sub(&a, &b)?, &each(&x, &y, sub(t)))?;
        check("a negation", &bfv.negate(&a)?, &each(&x, &x, |x, _| sub(t)(0, x)))?;
        let (one, all) = (bfv.encode(&y[..1])?, bfv.encode(&y)?);
        let same = vec![y[0].clone(); batch];
        for (plain, y) in [(&one, &same), (&all, &y)] {
            check("a sum with plaintexts", &bfv.add_plain(&a, plain)?, &each(&x, y, add(t)))?;
            check("a difference with plaintexts", &bfv.sub_plain(&a, plain)?, &each(&x, y, sub(t)))?;
            check("a product with plaintexts", &bfv.multiply_plain(&a, plain)?, &each(&x, y, mul(t)))?;
        }
        check("a product", &bfv.multiply(&a, &b, &scheme.relinearise)?, &each(&x, &y, mul(t)))?;
        check("a square", &bfv.square(&a, &scheme.relinearise)?, &each(&x, &x, mul(t)))?;
        for steps in ROTATIONS.into_iter().chain([0, x[0].len() as i64 / 2]) {
            check("a rotation", &bfv.rotate_rows(&a, steps, &scheme.turn)?, &rotated(&x, steps))?;
        }
        check("exchanged rows", &bfv.rotate_columns(&a, &scheme.turn)?, &exchanged(&x))?;
        let again = bfv.ciphertext_from_bytes(&bfv.ciphertext_to_bytes(&a)?)?;
        check("a ciphertext from bytes", &again, &x)?;
    }
    Ok(())
}

#[test]
fn signed_integers_are_centred() -> Result<()> {
    let mut scheme = Scheme::new(&Engine::cpu(), Parameters::insecure(4, 97, &[40], &[41])?)?;
    let numbers = [-48i64, 48, -1, 0, 1];
    let plain = scheme.bfv.encode_signed(&[numbers])?;
    let a = scheme.bfv.encrypt(&plain, &scheme.public, &mut scheme.random)?;
    assert_eq!(scheme.bfv.decrypt_signed(&a, &scheme.secret)?[0][..6], [-48, 48, -1, 0, 1, 0]);
    assert_eq!(scheme.bfv.decrypt(&a, &scheme.secret)?[0][..6], [49, 48, 96, 0, 1, 0]);
    Ok(())
}

/// The slots are evaluations of the plaintext at powers of a root of order 2N, so a polynomial 1 is 1 in each slot, and x^N
/// = −1: the product of all slots of x is that of all roots of x^N + 1, which is 1.
#[test]
fn slots_are_evaluations() -> Result<()> {
    let scheme = Scheme::new(&Engine::cpu(), Parameters::insecure(6, 65537, &[55], &[56])?)?;
    let (bfv, t) = (&scheme.bfv, 65537);
    let coefficients = |slots: &[u64]| -> Result<Vec<u64>> {
        bfv.keys().download_residues(bfv.encode(&[slots])?.buffer()).map(|words| words.to_vec()).map_err(Error::from)
    };
    assert_eq!(coefficients(&[1; 64])?, [&[1][..], &[0; 63]].concat());
    // a root of order 128 modulo 65537, and its powers of 5 in the first row, their inverses in the second
    let root = (0..9).fold(3u64, |x, _| x * x % t);
    let power = |e: u64| (0..e).fold(1, |x, _| x * root % t);
    let exponents: Vec<u64> = (0..32).scan(1, |e, _| Some(core::mem::replace(e, *e * 5 % 128))).collect();
    let slots = |times: u64| -> Vec<u64> {
        exponents.iter().copied().chain(exponents.iter().map(|e| 128 - e)).map(|e| power(e * times % 128)).collect()
    };
    // x under one of the automorphisms, which depends on the root that the engine chose
    let found = (1..128).step_by(2).find(|&times| coefficients(&slots(times)).is_ok_and(|c| c[1] == 1));
    let Some(times) = found else { panic!("no root gives the polynomial x") };
    assert_eq!(coefficients(&slots(times))?, [&[0, 1][..], &[0; 62]].concat());
    Ok(())
}

/// Tests the promises about noise budgets, and that a spent one is an error before any integer is wrong.
#[test]
fn noise_budgets_are_told() -> Result<()> {
    for (log_n, t, q) in [(10, 65537, &[55; 4][..]), (8, 7681, &[31; 6]), (6, 786_433, &[50; 5])] {
        let mut scheme = Scheme::new(&Engine::cpu(), Parameters::insecure(log_n, t, q, &[*q.first().unwrap()])?)?;
        let mut x = scheme.integers(&mut Random::new(seed()), 2);
        let (mut a, bfv) = (scheme.encrypt(&x)?, scheme.bfv.clone());
        let least = |a: &Ciphertext| -> Result<f64> {
            Ok(bfv.noise_budget(a, &scheme.secret)?.into_iter().fold(f64::INFINITY, f64::min))
        };
        let mut budget = least(&a)?;
        let (bits, log_t) = (f64::from(q.iter().sum::<u32>()), (t as f64).log2());
        let fresh = bits - log_t - f64::from(log_n) / 2.0 - 5.0;
        assert!((fresh - 1.5..fresh + 1.5).contains(&budget), "{budget} bits for {fresh}");
        let doubled = least(&bfv.add(&a, &a)?)?;
        assert!((budget - doubled - 1.0).abs() < 0.1, "{doubled} of {budget} bits");
        let scaled = least(&bfv.multiply_plain(&a, &bfv.encode(&x)?)?)?;
        let cost = budget - scaled - log_t - f64::from(log_n) / 2.0;
        assert!((-4.0..2.0).contains(&cost), "from {budget} to {scaled} bits by a plaintext");
        let mut products = 0;
        loop {
            a = bfv.square(&a, &scheme.relinearise)?;
            x = each(&x, &x, mul(t));
            match bfv.decrypt(&a, &scheme.secret) {
                Ok(found) => assert!(found == x, "after {products} squares"),
                Err(Error::Noise { budget: left, .. }) => {
                    assert!(left < 1.0 && budget < log_t + f64::from(log_n) + 2.0, "{budget} bits, then {left}");
                    break;
                }
                Err(other) => return Err(other),
            }
            let left = least(&a)?;
            assert!(budget - left < log_t + f64::from(log_n) + 1.0, "from {budget} to {left} bits");
            (budget, products) = (left, products + 1);
        }
        assert!(products >= 3, "{products} squares");
    }
    Ok(())
}
