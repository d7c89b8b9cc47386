//! Random circuits on ciphertexts, checked against the same circuits on complex doubles.

use ringforge::Engine;
use ringforge_ckks::{Ciphertext, Ckks, Complex64, Parameters, Randomness, Result};
use ringforge_testkit::{Random, seed};

const CIRCUITS: usize = 1000;
const STEPS: usize = 8;

#[test]
fn random_circuits_decrypt_correctly() -> Result<()> {
    let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(5, &[55, 40, 40, 40], &[56])?)?;
    let mut random_key = Randomness::from_seed([5; 32]);
    let secret = ckks.keys().secret_key(&mut random_key)?;
    let public = ckks.keys().public_key(&secret, &mut random_key)?;
    let key = ckks.keys().relinearisation_key(&secret, &mut random_key)?;
    let turn = ckks.keys().galois_keys(&secret, &[1, 2, -3], true, &mut random_key)?;
    let mut random = Random::new(seed());
    let mut number = {
        let mut random = Random::new(seed());
        move || (random.below(2001) as f64 - 1000.0) / 1000.0
    };
    for circuit in 0..CIRCUITS {
        let mut fresh = |level: usize| -> Result<(Ciphertext, Vec<Complex64>)> {
            let x: Vec<Complex64> = (0..16).map(|_| Complex64::new(number(), number()) / 2.0).collect();
            Ok((ckks.encrypt(&ckks.encode(&[&x], level)?, &public, &mut random_key)?, x))
        };
        let (mut c, mut x) = fresh(3)?;
        for step in 0..STEPS {
            let choice = random.below(8);
            (c, x) = match choice {
                0 | 1 if c.level() > 0 => {
                    let (d, y) = fresh(c.level())?;
                    let product = ckks.multiply(&c, &d, &key)?;
                    (ckks.rescale(&product)?, x.iter().zip(&y).map(|(x, y)| x * y).collect())
                }
                2 if c.level() > 0 => (ckks.multiply_rescale(&c, &c, &key)?, x.iter().map(|x| x * x).collect()),
                3 => {
                    let d = ckks.encode_at(&[vec![Complex64::new(0.25, -0.5); 16]], c.level(), c.scale())?;
                    (ckks.add_plain(&c, &d)?, x.iter().map(|x| x + Complex64::new(0.25, -0.5)).collect())
                }
                4 => {
                    let steps = [1, 2, -3][random.below(3)];
                    x.rotate_left((steps + 16) as usize % 16);
                    (ckks.rotate(&c, steps, &turn)?, x)
                }
                5 => (ckks.conjugate(&c, &turn)?, x.iter().map(|x| x.conj()).collect()),
                6 => (ckks.negate(&c)?, x.iter().map(|x| -x).collect()),
                7 if c.level() > 0 => {
                    (ckks.rescale(&ckks.multiply_number(&c, -0.75)?)?, x.iter().map(|x| x * -0.75).collect())
                }
                _ => (ckks.sub(&c, &ckks.negate(&c)?)?, x.iter().map(|x| x * 2.0).collect()),
            };
            // Stop before growing numbers exceed the modulus.
            if x.iter().any(|x| x.norm() > 100.0) {
                break;
            }
            let found = ckks.decrypt(&c, &secret)?;
            let error = found[0].iter().zip(&x).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max);
            assert!(error < 1e-6, "circuit {circuit}, step {step}: {choice} leaves an error of {error:e}");
        }
    }
    Ok(())
}
