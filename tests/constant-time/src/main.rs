//! A program that runs all code that handles secrets on the CPU. A test inspects the program's machine code, and runs
//! it under valgrind. Under valgrind, the program marks secret bytes as uninitialised, and valgrind reports branches
//! and addresses that depend on them.

mod ml_kem;
mod planted;
mod rows;
mod secrets;

use std::error::Error;
use std::hint::black_box;

use kem::{Decapsulate, Decapsulator, Encapsulate, Generate, KeyExport, TryKeyInit};
use rand_core::TryRng;
use ringforge::kernels::Distribution;
use ringforge::{Engine, PolyType, RandomKey};
use ringforge_ctru::{Ctru768, DecapsulationKey};
use ringforge_ctru_prime::{CtruPrime761, check_secret_key, decapsulate, encapsulate, generate};
use ringforge_sm2::PrivateKey;

use secrets::{Bytes, opened};

/// Samples elements of a ring from every distribution, from a secret ChaCha20 key ([`RandomKey`]).
fn sample(ring: &PolyType, rng: &mut Bytes) -> Result<(), Box<dyn Error>> {
    let (weight, eta, sigma) = (5, 3, 3.2);
    let small = [Distribution::Ternary, Distribution::Binomial { eta }, Distribution::Gaussian { sigma }];
    for distribution in small.into_iter().chain([Distribution::Uniform, Distribution::FixedWeight { weight }]) {
        let engine = Engine::cpu();
        let p = engine.pipeline("samples");
        p.output("sample", p.sample(ring, distribution, p.input("random_key")));
        let program = engine.compile(p)?;
        let (mut random_key, mut sample) = ([0; RandomKey::BYTES], vec![0; ring.bytes()]);
        rng.try_fill_bytes(&mut random_key)?;
        program.on_host(1).input("random_key", &random_key).output("sample", &mut sample).run()?;
        opened(sample);
    }
    Ok(())
}

/// Decomposes an element with secret coefficients into digits.
fn digits(ring: &PolyType, rng: &mut Bytes) -> Result<(), Box<dyn Error>> {
    let (engine, digits) = (Engine::cpu(), ring.vector(2 * 9)?);
    let p = engine.pipeline("digits");
    p.output("digits", p.coefficients("a", ring).digits(7, ring));
    let program = engine.compile(p)?;
    let (mut a, mut digits) = (vec![0; ring.bytes()], vec![0; digits.bytes()]);
    rng.try_fill_bytes(&mut a)?;
    program.on_host(1).input("a", &a).output("digits", &mut digits).run()?;
    opened(digits);
    Ok(())
}

/// Runs the schemes on secrets: CTRU, CTRU-Prime, SM2 signatures, ML-KEM, sampling and digit decomposition.
fn schemes(rng: &mut Bytes) -> Result<(), Box<dyn Error>> {
    let key = DecapsulationKey::<Ctru768>::generate_from_rng(rng);
    let key = DecapsulationKey::<Ctru768>::new(&key.to_bytes())?;
    let (ciphertext, sent) = key.encapsulation_key().encapsulate_with_rng(rng);
    assert_eq!(opened(key.decapsulate(&ciphertext)), opened(sent));

    let (public_key, secret_key) = generate::<CtruPrime761>(rng)?;
    assert_eq!(check_secret_key::<CtruPrime761>(&secret_key)?, None);
    let (ciphertext, sent) = encapsulate::<CtruPrime761>(&public_key, rng)?;
    assert_eq!(opened(*decapsulate::<CtruPrime761>(&secret_key, &ciphertext)?), opened(*sent));

    let Ok(key) = PrivateKey::generate(rng);
    let signature = key.sign_digest(&[7; 32]);
    opened(signature.to_bytes());

    let wide = "97,57896044618658097711785492504343953926634992332820282019728792003956564819949 : x^9 + 1";
    for ring in ["2,1152921504606830593 : x^9 + 1", wide] {
        sample(&ring.parse()?, rng)?;
    }
    digits(&"2,1152921504606830593 : x^9 + 1".parse::<PolyType>()?.accepting_any_word(), rng)?;
    ml_kem::exchange(rng)
}

fn main() -> Result<(), Box<dyn Error>> {
    let rng = &mut Bytes(1);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(|argument| &**argument).collect();
    match arguments[..] {
        [] => schemes(rng)?,
        ["branch"] => {
            let mut secret = [0];
            rng.try_fill_bytes(&mut secret)?;
            planted::branches(secret[0]);
        }
        ["rows", level] => {
            rows::choose(level)?;
            rows::all(rng)?;
        }
        ["times", level] => {
            rows::choose(level)?;
            rows::times()?;
        }
        _ => return Err("expected no argument, or branch, rows LEVEL or times LEVEL".into()),
    }

    black_box(planted::divides(black_box(9), black_box(5)));
    #[cfg(target_arch = "x86_64")]
    black_box(planted::leaves(black_box(&[1.0, -1.0])));
    black_box(planted::divides_wide(black_box(9), black_box(5)));
    planted::divides_within(black_box(&mut [9; 99]), black_box(5));
    black_box(planted::divides_double(black_box(9.0), black_box(5.0)));
    black_box(planted::divides_somewhere(black_box(9), black_box(5), black_box(planted::divides)));
    Ok(())
}
