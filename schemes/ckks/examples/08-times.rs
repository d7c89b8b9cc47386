//! Measures operations on single ciphertexts. `tests/peers/times.py` compares the results with those of OpenFHE.
//!
//! `cargo run --release -p ringforge-ckks --example 08-times -- 14 60,40,40,40,40,40 60`. The arguments are log₂ of the
//! degree, the bits of the primes of Q, and those of P. Each line has an operation and its median time in milliseconds.

use std::error::Error;
use std::time::Instant;

use ringforge_ckks::ringforge::Engine;
use ringforge_ckks::{Ciphertext, Ckks, Complex64, Parameters, Randomness};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Rows and columns of the matrices of a network with 64, 32 and 10 neurons, padded.
const SIZE: usize = 64;

/// Prints the median time of a few runs.
fn time<T>(ckks: &Ckks, name: &str, mut run: impl FnMut() -> ringforge_ckks::Result<T>) -> Outcome<T> {
    let stream = ckks.engine().stream()?;
    let mut last = run()?;
    stream.synchronize()?;
    let mut times = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        last = run()?;
        stream.synchronize()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!("{name} {:.3}", times[times.len() / 2]);
    Ok(last)
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let log_n = args.next().map_or(Ok(14), |log_n| log_n.parse())?;
    let mut bits = |default: &str| -> Result<Vec<u32>, _> {
        args.next().as_deref().unwrap_or(default).split(',').map(str::parse).collect()
    };
    let (q, p) = (bits("60,40,40,40,40,40")?, bits("60")?);
    let ckks = Ckks::new(&Engine::best(), Parameters::new(log_n, &q, &p)?)?;
    let (slots, top) = (ckks.parameters().slots(), ckks.parameters().top_level());

    let mut random = Randomness::system();
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let key = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let entry = |i: usize| (i * 37 % 101) as f64 / 101.0 - 0.5;
    let layer = |rows: usize, columns: usize, seed: usize| -> Vec<Vec<Complex64>> {
        let entry =
            |i: usize, j: usize| if i < rows && j < columns { entry(seed + i * columns + j) / 8.0 } else { 0.0 };
        (0..SIZE).map(|i| (0..SIZE).map(|j| entry(i, j).into()).collect()).collect()
    };
    let [first, second] = [layer(32, SIZE, 1), layer(10, 32, 2)];
    let (w1, w2) = (ckks.matrix(&first, top)?, ckks.matrix(&second, top - 2)?);
    let turn =
        ckks.keys().galois_keys(&secret, &[w1.rotations(), w2.rotations(), vec![1]].concat(), false, &mut random)?;

    let numbers: Vec<Complex64> = (0..slots).map(|i| entry(i % SIZE).into()).collect();
    let plain = time(&ckks, "encode", || ckks.encode(&[&numbers], top))?;
    let a = time(&ckks, "encrypt", || ckks.encrypt(&plain, &public, &mut random))?;
    time(&ckks, "decrypt", || ckks.decrypt(&a, &secret))?;
    time(&ckks, "add", || ckks.add(&a, &a))?;
    time(&ckks, "add-number", || ckks.add_number(&a, 0.5))?;
    time(&ckks, "multiply-rescale", || ckks.multiply_rescale(&a, &a, &key))?;
    time(&ckks, "rotate", || ckks.rotate(&a, 1, &turn))?;
    time(&ckks, "rotation-key", || Ok(ckks.keys().galois_keys(&secret, &[1], false, &mut random)?))?;
    let network = |x: &Ciphertext| {
        let hidden = ckks.apply(&w1, x, &turn)?;
        let squared = ckks.rescale(&ckks.square(&hidden, &key)?)?;
        ckks.apply(&w2, &squared, &turn)
    };
    let result = time(&ckks, "network", || network(&a))?;

    let product = |matrix: &[Vec<Complex64>], x: &[Complex64]| -> Vec<Complex64> {
        matrix.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    };
    let hidden: Vec<Complex64> = product(&first, &numbers[..SIZE]).iter().map(|x| x * x).collect();
    let found = &ckks.decrypt(&result, &secret)?[0];
    let wrong = product(&second, &hidden).iter().zip(found).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max);
    assert!(wrong < 1e-5, "the network is wrong by {wrong}");
    Ok(())
}
