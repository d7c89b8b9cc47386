//! Measures precision and noise for given parameters. `tests/peers/precision.py` compares the results with those of
//! other libraries.
//!
//! `cargo run --release -p ringforge-ckks --example 07-precision -- 14 60,50,50,50,50,50 60,60`. The arguments are log₂
//! of the degree, the bits of the primes of Q, and those of P. Parameters beyond 128-bit security are accepted.

use std::error::Error;

use ringforge_ckks::ringforge::Engine;
use ringforge_ckks::{Ciphertext, Ckks, Complex64, Parameters, Randomness};

/// Number of rotations over which the noise is averaged. Each has its own key, because the error of a single key
/// dominates in a few slots.
const ROTATIONS: i64 = 16;

/// Real numbers of absolute value 0.9 to 1.
fn numbers(count: usize) -> Vec<Complex64> {
    let mut state = 1u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = 0.9 + 0.1 * (state >> 11) as f64 / (1u64 << 53) as f64;
        Complex64::from(if state >> 10 & 1 == 0 { size } else { -size })
    };
    (0..count).map(|_| number()).collect()
}

/// Prints the bits of precision of the real parts: by root mean square error, and by largest error.
fn precision(name: &str, found: &[Complex64], wanted: &[Complex64]) {
    let errors = || found.iter().zip(wanted).map(|(x, y)| (x - y).re);
    let mean = (errors().map(|e| e * e).sum::<f64>() / found.len() as f64).sqrt();
    println!("{name} {:.2} {:.2}", -mean.log2(), -errors().map(f64::abs).fold(0.0, f64::max).log2());
}

/// Variance of a noise coefficient, computed from the errors in the slots. The variance in a slot is N times that of a
/// coefficient, where N is the degree.
fn variance(found: &[Complex64], wanted: &[Complex64], scale: f64) -> f64 {
    let square = found.iter().zip(wanted).map(|(x, y)| (x - y).norm_sqr()).sum::<f64>() / found.len() as f64;
    scale * scale * square / (2 * found.len()) as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let log_n = args.next().map_or(Ok(14), |log_n| log_n.parse())?;
    let mut bits = |default: &str| -> Result<Vec<u32>, _> {
        args.next().as_deref().unwrap_or(default).split(',').map(str::parse).collect()
    };
    let (q, p) = (bits("60,50,50,50,50,50")?, bits("60,60")?);
    let ckks = Ckks::new(&Engine::best(), Parameters::insecure(log_n, &q, &p)?)?;
    let (slots, top) = (ckks.parameters().slots(), ckks.parameters().top_level());

    let mut random = Randomness::system();
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let key = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let steps: Vec<i64> = (1..=ROTATIONS).collect();
    let turn = ckks.keys().galois_keys(&secret, &steps, false, &mut random)?;
    let decrypt = |c: &Ciphertext| ckks.decrypt(c, &secret).map(|mut items| items.swap_remove(0));

    let mut x = numbers(slots);
    let mut c = ckks.encrypt(&ckks.encode(&[&x], top)?, &public, &mut random)?;
    let fresh = decrypt(&c)?;
    println!("encryption {:.2}", variance(&fresh, &x, c.scale()).sqrt());
    precision("fresh", &fresh, &x);

    let mut turned = fresh;
    let mut added = 0.0;
    for rotated in ckks.rotations(&c, &steps, &turn)? {
        turned.rotate_left(1);
        added += variance(&decrypt(&rotated)?, &turned, c.scale());
    }
    println!("rotation {:.2}", (added / ROTATIONS as f64).sqrt());

    for level in (0..top).rev() {
        c = ckks.multiply_rescale(&c, &c, &key)?;
        x.iter_mut().for_each(|x| *x *= *x);
        if level + 1 == top {
            precision("square", &decrypt(&c)?, &x);
        }
    }
    precision("squares", &decrypt(&c)?, &x);
    Ok(())
}
