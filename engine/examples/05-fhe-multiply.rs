//! A product of two encrypted polynomials, as the scheme BFV makes it: RNS bases, conversions between them, transforms.
//!
//! A toy: its randomness is no secret, it has no relinearisation, and its parameters are not chosen for security.
//!
//! `cargo run --release -p ringforge --example 05-fhe-multiply`

use num_bigint::BigUint;
use ringforge::{Engine, Job, Modulus, Op, Result, Ring};

const N: usize = 4096;
/// The modulus of plaintexts.
const T: u64 = 65537;

/// Runs a job from one argument to another on a batch of polynomials.
fn run(engine: &Engine, job: &Job, from: &[u64]) -> Result<Vec<u64>> {
    let program = engine.program(job)?;
    let words = |name: &str| program.plan().arg(name).map_or(1, |arg| arg.bytes / 8);
    let batch = from.len() / words("from");
    let mut to = vec![0; batch * words("to")];
    program.on_host(batch).input("from", from).output("to", &mut to).run()?;
    Ok(to)
}

/// The RNS rows of polynomials with these coefficients, below the product Q of the ring's moduli.
fn rows(engine: &Engine, ring: &Ring, coefficients: impl Iterator<Item = BigUint>) -> Result<Vec<u64>> {
    let limbs = modulus(ring).bits().div_ceil(64) as usize;
    let padded = |x: BigUint| x.iter_u64_digits().chain(core::iter::repeat(0)).take(limbs).collect::<Vec<_>>();
    run(engine, &Job::new(ring, Op::Decompose), &coefficients.flat_map(padded).collect::<Vec<_>>())
}

/// The coefficients in [0, Q) of polynomials given by RNS rows.
fn coefficients(engine: &Engine, ring: &Ring, rows: &[u64]) -> Result<Vec<BigUint>> {
    let integers = run(engine, &Job::new(ring, Op::Compose), rows)?;
    let limbs = modulus(ring).bits().div_ceil(64) as usize;
    Ok(integers.chunks(limbs).map(|x| BigUint::from_bytes_le(bytemuck::cast_slice(x))).collect())
}

/// Q, the product of a ring's moduli.
fn modulus(ring: &Ring) -> BigUint {
    ring.basis().iter().filter_map(Modulus::value_u64).map(BigUint::from).product()
}

/// a ± b for rows of elements of a ring.
fn add(ring: &Ring, a: &[u64], b: &[u64], subtract: bool) -> Vec<u64> {
    let moduli = ring.basis().iter().filter_map(Modulus::value_u64).cycle();
    let rows = a.chunks(N).zip(b.chunks(N)).zip(moduli);
    rows.flat_map(|((a, b), q)| a.iter().zip(b).map(move |(a, b)| (a + if subtract { q - b } else { *b }) % q))
        .collect()
}

fn main() -> Result<()> {
    let engine = Engine::best();
    println!("on {}", engine.device());
    // ciphertexts live modulo Q, a product of three primes; the four of P make room for an exact product of two of them
    let primes = Modulus::ntt_primes(2 * N as u64, 50, 7)?;
    let (ring, wide) = (Ring::rns(N, &primes[..3])?, Ring::rns(N, &primes)?);
    let (q, qp) = (modulus(&ring), modulus(&wide));
    let small = |x: i64| if x < 0 { &q - x.unsigned_abs() } else { BigUint::from(x.unsigned_abs()) };
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 3
    };

    // the key: a ternary polynomial s
    let s = rows(&engine, &ring, (0..N).map(|_| small((random() % 3) as i64 - 1)))?;

    // two messages, each encrypted as (c0, c1) with c0 + c1 s = Q/T m + e for a small error e and a random c1
    let messages: Vec<u32> = (0..2 * N).map(|_| (random() % T) as u32).collect();
    let scaled: Vec<BigUint> = messages.iter().map(|&m| (&q * m + T / 2) / T).collect();
    let errors = (0..2 * N).map(|_| small(i64::from((random() & 0xff).count_ones()) - 4));
    let noisy = rows(&engine, &ring, scaled.iter().zip(errors).map(|(m, e)| (m + e) % &q))?;
    let moduli: Vec<u64> = ring.basis().iter().filter_map(Modulus::value_u64).collect();
    let c1: Vec<u64> = (0..6 * N).map(|i| random() % moduli[i / N % 3]).collect();
    let c0 = add(&ring, &noisy, &engine.mul(&ring, &c1, &[&s[..], &s].concat())?, true);

    // the product modulo Q P, of representatives in (−Q/2, Q/2]: (a0 + a1 s) (b0 + b1 s) = d0 + d1 s + d2 s²
    let p = engine.pipeline("product of ciphertexts");
    let extend = Job::new(&ring, Op::ConvertCentred).to(&wide);
    let [a0, a1, b0, b1] =
        ["a0", "a1", "b0", "b1"].map(|name| p.job(&extend, &[p.coefficients(name, &ring)]).forward());
    p.output("d0", (a0 * b0).inverse());
    p.output("d1", a0.mul_add(b1, a1 * b0).inverse());
    p.output("d2", (a1 * b1).inverse());
    let program = engine.device().compile(&p.build()?)?;
    let ((a0, b0), (a1, b1)) = (c0.split_at(3 * N), c1.split_at(3 * N));
    let mut tensor = [0, 1, 2].map(|_| vec![0u64; 7 * N]);
    let [d0, d1, d2] = &mut tensor;
    let call = program.on_host(1).input("a0", a0).input("a1", a1).input("b0", b0).input("b1", b1);
    call.output("d0", d0).output("d1", d1).output("d2", d2).run()?;

    // scaled by T/Q and rounded, back modulo Q; a coefficient above QP/2 stands for itself less QP, scaled T·P
    let negative = &q - &qp / &q * T % &q;
    let scale = |x: BigUint| ((&x * T + &q / 2u32) / &q + if x > &qp / 2u32 { &negative } else { &BigUint::ZERO }) % &q;
    let d = rows(&engine, &ring, coefficients(&engine, &wide, &tensor.concat())?.into_iter().map(scale))?;
    let [d0, d1, d2] = [0, 1, 2].map(|i| &d[i * 3 * N..][..3 * N]);

    // decryption: (d2 s + d1) s + d0 is Q/T m plus noise
    let times_s = |x: &[u64]| engine.mul(&ring, x, &s);
    let phase = add(&ring, &times_s(&add(&ring, &times_s(d2)?, d1, false))?, d0, false);
    let phase: Vec<BigUint> = coefficients(&engine, &ring, &phase)?.into_iter().map(|x| x * T).collect();
    let found: Vec<u32> =
        phase.iter().map(|x| ((x + &q / 2u32) / &q % T).iter_u32_digits().next().unwrap_or(0)).collect();
    let noise = phase.iter().map(|x| (x % &q).min(&q - x % &q)).max().unwrap_or_default();
    println!("{} of {} bits are noise", noise.bits(), q.bits());
    assert!(noise.bits() + 40 < q.bits(), "too much noise");

    // the product of the messages themselves
    let plain = Ring::negacyclic(N, Modulus::new(T)?)?;
    let expected = engine.mul(&plain, &messages[..N], &messages[N..])?;
    assert_eq!(found, expected);
    println!("the product of the ciphertexts decrypts to that of the messages");
    Ok(())
}
