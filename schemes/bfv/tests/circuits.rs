//! Random circuits on ciphertexts, checked against the same circuits on integers.

use ringforge::Engine;
use ringforge_bfv::{Parameters, Result};
use ringforge_testkit::{Random, Target, seed};

use crate::scheme::{ROTATIONS, Scheme, add, each, exchanged, mul, rotated, sub};

const STEPS: usize = 6;

/// Runs this many circuits for each set of parameters: of 64-bit words with a small and a large plaintext modulus, and of
/// 32-bit words.
fn circuits_on(engine: &Engine, count: usize) -> Result<()> {
    let large = Parameters::plain_modulus(4, 60)?;
    let mut random = Random::new(seed());
    for (log_n, t, q, p) in
        [(4, 65537, &[55; 4][..], &[56][..]), (4, large, &[60; 8], &[61, 61]), (5, 193, &[31; 5], &[31, 31])]
    {
        let mut scheme = Scheme::new(engine, Parameters::insecure(log_n, t, q, p)?)?;
        let bfv = scheme.bfv.clone();
        for circuit in 0..count {
            let mut x = scheme.integers(&mut random, 2);
            let mut a = scheme.encrypt(&x)?;
            let mut steps = Vec::new();
            for _ in 0..1 + random.below(STEPS) {
                let choice = random.below(9);
                steps.push(choice);
                let y = scheme.integers(&mut random, 2);
                let turn = ROTATIONS[random.below(ROTATIONS.len())];
                (a, x) = match choice {
                    0 => (bfv.multiply(&a, &scheme.encrypt(&y)?, &scheme.relinearise)?, each(&x, &y, mul(t))),
                    1 => (bfv.square(&a, &scheme.relinearise)?, each(&x, &x, mul(t))),
                    2 => (bfv.add(&a, &scheme.encrypt(&y)?)?, each(&x, &y, add(t))),
                    3 => (bfv.sub(&a, &scheme.encrypt(&y)?)?, each(&x, &y, sub(t))),
                    4 => (bfv.add_plain(&a, &bfv.encode(&y)?)?, each(&x, &y, add(t))),
                    5 => (bfv.multiply_plain(&a, &bfv.encode(&y)?)?, each(&x, &y, mul(t))),
                    6 => (bfv.rotate_rows(&a, turn, &scheme.turn)?, rotated(&x, turn)),
                    7 => (bfv.rotate_columns(&a, &scheme.turn)?, exchanged(&x)),
                    _ => (
                        bfv.sub_plain(&bfv.negate(&a)?, &bfv.encode(&y)?)?,
                        each(&x, &y, |x, y| sub(t)(sub(t)(0, x), y)),
                    ),
                };
            }
            assert!(bfv.decrypt(&a, &scheme.secret)? == x, "circuit {circuit} for t = {t}: {steps:?}");
        }
    }
    Ok(())
}

/// The number of circuits for each set of parameters: `RINGFORGE_CIRCUITS`, or `usual`.
fn count(usual: usize) -> usize {
    std::env::var("RINGFORGE_CIRCUITS").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

#[test]
fn cpu() -> Result<()> {
    circuits_on(&Engine::cpu(), count(150))
}

#[test]
fn cuda() -> Result<()> {
    let Some(device) = Target::Cuda.device() else { return Ok(()) };
    circuits_on(&Engine::on(device), count(150))
}
