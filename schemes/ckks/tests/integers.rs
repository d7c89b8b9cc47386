//! Tests of rescaling against big integers, and of the noise of each operation against its bound.

use num_bigint::{BigInt, BigUint, Sign};
use ringforge::{Engine, Modulus, Pipeline};
use ringforge_ckks::{Ckks, Complex64, Level, Parameters, Randomness, Result};

const LOG_N: u32 = 5;
const N: usize = 1 << LOG_N;

/// CRT reconstruction from limbs: returns the coefficients in [0, Q), and Q, the product of the moduli.
fn composed(rows: &[u64], moduli: &[Modulus]) -> (Vec<BigUint>, BigUint) {
    let moduli: Vec<BigUint> = moduli.iter().filter_map(Modulus::value_u64).map(BigUint::from).collect();
    let product: BigUint = moduli.iter().product();
    let weights: Vec<BigUint> = moduli
        .iter()
        .map(|q| {
            let rest = &product / q;
            &rest * rest.modinv(q).expect("primes")
        })
        .collect();
    let number = |i: usize| weights.iter().zip(rows.chunks(N)).map(|(w, row)| w * row[i]).sum::<BigUint>() % &product;
    ((0..N).map(number).collect(), product)
}

fn centred(x: &BigUint, q: &BigUint) -> BigInt {
    let x = BigInt::from_biguint(Sign::Plus, x.clone());
    let q = BigInt::from_biguint(Sign::Plus, q.clone());
    if &x * 2 > q { x - q } else { x }
}

/// a / b rounded to the nearest integer, for odd b.
fn rounded(a: &BigInt, b: &BigInt) -> BigInt {
    let (twice, b2) = (a * 2 + b, b * 2);
    let floor = &twice / &b2;
    if &floor * &b2 > twice { floor - 1 } else { floor }
}

/// Runs the steps that `build` adds to a new pipeline, on one item. Returns the output `to`, which has `size` words.
fn run(engine: &Engine, inputs: &[(&str, &[u64])], size: usize, build: impl FnOnce(&Pipeline)) -> Result<Vec<u64>> {
    let p = engine.pipeline("steps");
    build(&p);
    let program = engine.compile(p)?;
    let mut to = vec![0u64; size];
    let call = inputs.iter().fold(program.on_host(1), |call, (name, words)| call.input(name, words));
    call.output("to", &mut to).run()?;
    Ok(to)
}

fn random(seed: u64, moduli: &[Modulus]) -> Vec<u64> {
    let mut state = seed | 1;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 32
    };
    moduli.iter().filter_map(Modulus::value_u64).flat_map(|q| (0..N).map(|_| next() % q).collect::<Vec<_>>()).collect()
}

#[test]
fn rescaling_rounds_to_the_nearest_integer() -> Result<()> {
    let engine = Engine::cpu();
    for drop in [1, 2] {
        let parameters = Parameters::insecure(LOG_N, &[55, 40, 45, 50, 41], &[56])?.rescaling_by(drop)?;
        let level = Level::new(&parameters, parameters.top_level())?;
        let words = [random(1, parameters.q()), random(2, parameters.q())].concat();
        let left = 5 - drop;
        let found = run(&engine, &[("a", &words)], 2 * left * N, |p| {
            // Inputs and outputs are coefficients, and rescaling takes evaluations.
            let pair = p.coefficients("a", level.plaintext_type().vector(2).expect("a ring")).forward();
            p.output("to", level.rescaled(pair).inverse());
        })?;
        for (words, found) in words.chunks(5 * N).zip(found.chunks(left * N)) {
            let (x, q) = composed(words, parameters.q());
            let (y, q_below) = composed(found, &parameters.q()[..left]);
            let gone = BigInt::from(&q / &q_below);
            for (x, y) in x.iter().zip(&y) {
                let wanted = rounded(&centred(x, &q), &gone);
                assert_eq!((wanted - centred(y, &q_below)) % BigInt::from(q_below.clone()), BigInt::ZERO);
            }
        }
    }
    Ok(())
}

/// Tests the noise after encryption and after each later operation. Fresh noise is v·e + e_1·s + e_0. Here v is
/// ternary, e_0 and e_1 are the errors of the encryption, e is the error of the public key, and s is the secret key.
/// Each later step adds noise to that. All bounds are for slots: if coefficients have variance V, slots have variance
/// N·V. A bound is eight standard deviations, which no test will ever exceed.
#[test]
fn noise_stays_within_its_bound_at_every_step() -> Result<()> {
    let parameters = Parameters::insecure(10, &[55, 40, 40, 40], &[56])?;
    let (n, sigma) = (1024.0f64, 3.19);
    let ckks = Ckks::new(&Engine::cpu(), parameters.clone())?;
    let mut random = Randomness::from_seed([9; 32]);
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let key = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let turn = ckks.keys().galois_keys(&secret, &[1], false, &mut random)?;
    // The numbers are on the unit circle, so products do not grow.
    let x: Vec<Complex64> = (0..512).map(|i| Complex64::cis(f64::from(i) * 0.37)).collect();
    let deviations = 8.0;
    let slots = |variance: f64| deviations * (n * variance).sqrt();
    let rounding = slots(1.0 / 12.0) + slots(n * 2.0 / 3.0 / 12.0); // rounding of c_0, and of c_1 in c_1·s
    let fresh = slots(sigma * sigma * (1.0 + 2.0 * n * 2.0 / 3.0)) + slots(1.0 / 12.0);
    let value = |q: &Modulus| q.value_u64().map_or(0.0, |q| q as f64);
    // Noise that key switching adds. Coefficients of a digit are below the largest prime q, so their mean square is
    // q²/3. The sum over all digits is divided by P.
    let switch = |digits: f64| {
        let most = parameters.q().iter().map(value).fold(0.0, f64::max);
        slots(digits * n * most * most * sigma * sigma / 3.0) / value(&parameters.p()[0]) + rounding
    };
    let check = |c: &ringforge_ckks::Ciphertext, wanted: &[Complex64], bound: f64| -> Result<f64> {
        let found = ckks.decrypt(c, &secret)?;
        let error = found[0].iter().zip(wanted).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max) * c.scale();
        assert!(error < bound, "noise {error:e} above {bound:e}");
        assert!(error > bound / 4096.0, "the bound {bound:e} is too loose for the noise {error:e}");
        Ok(bound)
    };
    let a = ckks.encrypt(&ckks.encode(&[&x], 3)?, &public, &mut random)?;
    let mut bound = check(&a, &x, fresh)?;
    let (mut c, mut wanted) = (a, x);
    for level in (1..=3).rev() {
        let turned = ckks.rotate(&c, 1, &turn)?;
        wanted.rotate_left(1);
        bound = check(&turned, &wanted, bound + switch(level as f64 + 1.0))?;
        let scale = turned.scale();
        let square = ckks.square(&turned, &key)?;
        wanted.iter_mut().for_each(|x| *x *= *x);
        bound = check(&square, &wanted, 2.0 * scale * bound + bound * bound + switch(level as f64 + 1.0))?;
        c = ckks.rescale(&square)?;
        bound = check(&c, &wanted, bound / value(&parameters.q()[level]) + rounding)?;
    }
    Ok(())
}
