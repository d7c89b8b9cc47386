//! Bootstraps random ciphertexts, and prints their levels, precision and times.
//!
//! `cargo run --release -p ringforge-ckks --example 09-bootstrapping -- T10 2 3`. The arguments are the set, the batch,
//! and how many batches are bootstrapped.
//!
//! The sets are `T10` (too small to be secure), `B15`, `B16` (primes of up to 61 bits) and `B16W` (primes of up to 31
//! bits). The last two need a GPU with 20 GB of memory, or patience.

use std::error::Error;
use std::time::{Duration, Instant};

use ringforge_ckks::ringforge::{Engine, RandomKey};
use ringforge_ckks::{BootstrapPlan, Bootstrapper, Ckks, Complex64, Parameters, Randomness};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The parameters and the plan of a set. The primes of Q are q_0, those of users, of the sine, and back to slots.
fn set(name: &str) -> Outcome<(Parameters, BootstrapPlan)> {
    let plan = BootstrapPlan::default();
    let short = BootstrapPlan { slots_to_coefficients: 2, coefficients_to_slots: 2, ..plan };
    let q = |users: &[u32]| [&[60][..], users, &[60; 8], &[57; 4]].concat();
    let (parameters, scale, plan) = match name {
        "T10" => (Parameters::insecure(10, &q(&[40; 5]), &[61; 6])?, 40, plan),
        "B15" => {
            let q = [&[45][..], &[31; 5], &[55; 8], &[52; 2]].concat();
            (Parameters::new(15, &q, &[51, 61])?, 31, short)
        }
        "B16" => (Parameters::new(16, &q(&[40; 15]), &[61; 6])?, 40, plan),
        "B16W" => {
            let q = [&[30; 2][..], &[27; 22], &[29; 16], &[28; 8]].concat();
            let p = [&[30; 2][..], &[31; 10]].concat();
            (Parameters::new(16, &q, &p)?.rescaling_by(2)?, 54, plan)
        }
        _ => return Err(format!("there is no set {name}: choose T10, B15, B16 or B16W").into()),
    };
    Ok((parameters.with_scale(f64::from(scale).exp2())?, plan))
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or("T10".into());
    let mut number = |usual: usize| args.next().map_or(Ok(usual), |number| number.parse());
    let (batch, batches) = (number(2)?, number(3)?);
    let (parameters, plan) = set(&name)?;
    let ckks = Ckks::new(&Engine::best(), parameters)?;
    let (stream, slots) = (ckks.engine().stream()?, ckks.parameters().slots());
    println!("{name} on {}, {batch} ciphertexts of {slots} slots at once", ckks.engine().device());
    let gigabytes = |bytes: usize| bytes as f64 / 1e9;
    let said = Bootstrapper::memory(&ckks, plan, batch)?;
    println!(
        "{:.1} GB of device memory are needed, {:.1} GB of them for keys",
        gigabytes(said.total()),
        gigabytes(said.keys)
    );

    let mut random = Randomness::system();
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let started = Instant::now();
    let bootstrapper = Bootstrapper::new(&ckks, plan)?;
    let keys = bootstrapper.keys(&secret, &mut random)?;
    stream.synchronize()?;
    println!("linear maps and keys were made in {:.2?}", started.elapsed());

    let (mut times, mut squares, mut worst) = (Vec::new(), 0.0, 0.0f64);
    for _ in 0..batches {
        // random numbers of the unit square, by a linear congruential generator
        let seed = RandomKey::from_os()?;
        let mut state = u64::from_le_bytes(seed.as_bytes()[..8].try_into()?);
        let mut part = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / f64::exp2(52.0) - 1.0
        };
        let mut item = || (0..slots).map(|_| Complex64::new(part(), part())).collect::<Vec<_>>();
        let items: Vec<Vec<Complex64>> = (0..batch).map(|_| item()).collect();
        let worn = ckks.encrypt(&ckks.encode(&items, bootstrapper.input_level())?, &public, &mut random)?;
        stream.synchronize()?;
        let started = Instant::now();
        let fresh = bootstrapper.run(&worn, &keys)?;
        stream.synchronize()?;
        times.push(started.elapsed());
        let (before, after) = (ckks.decrypt(&worn, &secret)?.concat(), ckks.decrypt(&fresh, &secret)?.concat());
        for error in before.iter().zip(&after).map(|(a, b)| (a - b).norm()) {
            (squares, worst) = (squares + error * error, worst.max(error));
        }
    }
    times.sort_unstable();
    let each: Duration = times[times.len() / 2] / batch as u32;
    let rms = (squares / (batches * batch * slots) as f64).sqrt();
    println!("level {} to {}: {each:.2?} each", bootstrapper.input_level(), bootstrapper.output_level());
    println!(
        "precision of {} ciphertexts: {:.1} bits, worst slot {:.1} bits",
        batches * batch,
        -rms.log2(),
        -worst.log2()
    );
    Ok(())
}
