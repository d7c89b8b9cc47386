//! Bootstraps ciphertexts and prints time, levels and precision.
//!
//! ```sh
//! cargo run --release -p ringforge-ckks --example 09-bootstrapping -- [set] [batch]
//! ```
//!
//! The sets are `T10` (too small to be secure), `B16` (primes of up to 61 bits) and `B16W` (primes of up to 31 bits).
//! The largest sets need a GPU with 40 GB of memory, or patience.

use std::error::Error;
use std::time::{Duration, Instant};

use ringforge_ckks::ringforge::Engine;
use ringforge_ckks::{BootstrapPlan, Bootstrapper, Ciphertext, Ckks, Complex64, Parameters, Randomness, SecretKey};

/// The parameters of a set.
fn parameters(set: &str) -> Result<Parameters, Box<dyn Error>> {
    let (users, sine, to_slots) = ([40; 15], [60; 8], [57; 4]);
    Ok(match set {
        // q_0, levels of users, levels of the sine, levels from coefficients to slots
        "T10" => Parameters::insecure(10, &[&[60], &users[..5], &sine, &to_slots].concat(), &[61; 6])?,
        "B16" => Parameters::new(16, &[&[60], &users[..], &sine, &to_slots].concat(), &[61; 6])?,
        "B16W" => {
            let q = [&[30; 2][..], &[27; 22], &[29; 16], &[28; 8]].concat();
            // q_0 and the first two primes of P have 120 bits
            let p = [&[30; 2][..], &[31; 10]].concat();
            return Ok(Parameters::new(16, &q, &p)?.rescaling_by(2)?.with_scale(2f64.powi(54))?);
        }
        _ => return Err(format!("there is no set {set}: choose T10, B16 or B16W").into()),
    }
    .with_scale(2f64.powi(40))?)
}

/// −log2 of the root mean square error, and of the largest one.
fn bits(
    ckks: &Ckks,
    found: &Ciphertext,
    secret: &SecretKey,
    wanted: &[Vec<Complex64>],
) -> Result<[f64; 2], Box<dyn Error>> {
    let found = ckks.decrypt(found, secret)?;
    let errors: Vec<f64> =
        found.iter().flatten().zip(wanted.iter().flatten()).map(|(found, wanted)| (found - wanted).norm()).collect();
    let square = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
    Ok([-square.log2() / 2.0, -errors.iter().fold(0.0, |most, error| f64::max(most, *error)).log2()])
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let set = args.first().map_or("T10", String::as_str);
    let batch: usize = args.get(1).map_or(Ok(2), |batch| batch.parse())?;
    let ckks = Ckks::new(&Engine::best(), parameters(set)?)?;
    let (mut random, slots) = (Randomness::system(), ckks.parameters().slots());
    let secret = ckks.secret_key(&mut random)?;
    let public = ckks.public_key(&secret, &mut random)?;

    let started = Instant::now();
    let bootstrapper = Bootstrapper::new(&ckks, BootstrapPlan::default())?;
    ckks.engine().stream()?.synchronize()?;
    println!("{set} on {}: maps encoded in {:.2?}", ckks.engine().device(), started.elapsed());
    let started = Instant::now();
    let keys = bootstrapper.keys(&secret, &mut random)?;
    ckks.engine().stream()?.synchronize()?;
    println!("{:.1} GB of keys, made in {:.2?}", keys.bytes() as f64 / 1e9, started.elapsed());

    let part = |i: usize| (i * 7919 % 2003) as f64 / 1001.0 - 1.0;
    let various: Vec<Complex64> = (0..slots).map(|i| Complex64::new(part(i), part(3 * i + 1))).collect();
    for (kind, item) in [("various", various), ("equal", vec![Complex64::ONE; slots])] {
        let items = vec![item; batch];
        let plain = ckks.encode(&items, bootstrapper.input_level())?;
        let worn = ckks.encrypt(&plain, &public, &mut random)?;
        let fresh = bootstrapper.run(&worn, &keys)?;
        let [rms, worst] = bits(&ckks, &fresh, &secret, &items)?;
        println!("{kind} numbers: {rms:.1} bits, worst slot {worst:.1}, level {} to {}", worn.level(), fresh.level());
        for real in [false, true] {
            let mut times: Vec<Duration> = Vec::new();
            for _ in 0..if set == "T10" { 1 } else { 20 } {
                let started = Instant::now();
                let fresh = if real { bootstrapper.run_real(&worn, &keys)? } else { bootstrapper.run(&worn, &keys)? };
                ckks.engine().stream()?.synchronize()?;
                times.push(started.elapsed());
                drop(fresh);
            }
            times.sort_unstable();
            let kind = if real { "real" } else { "complex" };
            println!("{kind}, batch of {batch}: {:.2?} each", times[times.len() / 2] / batch as u32);
        }
    }
    Ok(())
}
