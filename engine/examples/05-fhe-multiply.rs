//! Multiplies two encrypted polynomials under BFV, entirely on the device and as one program.
//!
//! A toy example: it has no relinearisation, and its parameters are not chosen for security.
//!
//! `cargo run --release -p ringforge --example 05-fhe-multiply`

use ringforge::kernels::Distribution::{self, Ternary, Uniform};
use ringforge::{Engine, Job, Modulus, Op, RandomKey, Result, Ring, U256, Value};

const N: usize = 4096;
const ERROR: Distribution = Distribution::Gaussian { sigma: 3.2 };

fn main() -> Result<()> {
    let engine = Engine::best();
    println!("on {}", engine.device());
    // ciphertexts are modulo Q, the product of three primes; modulo P·Q, with four more primes, the product of two
    // ciphertexts does not wrap around
    let primes = Modulus::ntt_primes(2 * N as u64, 50, 7)?;
    let (ring, wide) = (Ring::rns(N, &primes[4..])?, Ring::rns(N, &primes)?);
    let plain = Ring::rns(N, &Modulus::ntt_primes(2 * N as u64, 36, 1)?)?; // message space, modulo T
    let product = |ring: &Ring| ring.basis().iter().fold(U256::ONE, |product, q| product.wrapping_mul(&q.value()));
    let (q, t) = (product(&ring), product(&plain));

    let p = engine.pipeline("a product of encrypted messages");
    let random_key = p.input("random_key");
    let sample = |distribution| p.sample(&ring, distribution, random_key);
    let [s, e, e2, c, c2] = [Ternary, ERROR, ERROR, Uniform, Uniform].map(sample);
    // encryption of m: c0 + c1 s = ⌊Q/T⌋ m + e, for a small error e and a uniform c1; c0 and c1 are then centred and
    // converted to P·Q
    let to = |ring: &Ring, op, value: Value<'_>, from: &Ring| p.job(&Job::new(from, op).to(ring), &[value]);
    let delta = q.checked_div(&t).unwrap_or(U256::ZERO);
    let encrypt = |name, e, c1| {
        let c0 = to(&ring, Op::Convert, p.coefficients(name, &plain), &plain).scale(&[delta]) + e - c1 * s;
        [c0, c1].map(|c| to(&wide, Op::ConvertCentred, c, &ring).forward())
    };
    let ([a0, a1], [b0, b1]) = (encrypt("m", e, c), encrypt("m'", e2, c2));
    // the product (a0 + a1 s) (b0 + b1 s) = d0 + d1 s + d2 s²: each d is scaled by T/Q and rounded, which leaves
    // residues modulo P, and is then converted to Q
    let left = Ring::rns(N, &wide.basis()[..4])?;
    let scaled = |d: Value<'_>| to(&ring, Op::ConvertCentred, d.inverse().scale(&[t]).divide_round(3), &left);
    let [d0, d1, d2] = [scaled(a0 * b0), scaled(a0.mul_add(b1, a1 * b0)), scaled(a1 * b1)];
    // decryption: (d2 s + d1) s + d0 is Q/T times the message product plus noise, so it is scaled by T/Q, rounded and
    // reduced modulo T
    let phase = (d2 * s + d1) * s + d0;
    let both = Ring::rns(N, &[plain.basis(), ring.basis()].concat())?;
    p.output("product", p.join(both, &[to(&plain, Op::Convert, phase, &ring), phase]).scale(&[t]).divide_round(3));
    let program = engine.compile(p)?;

    let messages = [3u64, 5].map(|step| (0..N as u64).map(|i| (i * step) << 18).collect::<Vec<_>>());
    let mut found = vec![0u64; N];
    let random_key = RandomKey::from_os()?;
    let call = program
        .on_host(1)
        .input("random_key", random_key.as_bytes())
        .input("m", &messages[0])
        .input("m'", &messages[1]);
    call.output("product", &mut found).run()?;
    assert_eq!(found, engine.mul(&plain, &messages[0], &messages[1])?);
    println!("the product of the ciphertexts decrypts to that of the messages");
    Ok(())
}
