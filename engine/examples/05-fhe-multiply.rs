//! A product of two encrypted polynomials, as the scheme BFV makes it: RNS bases, conversions between them, transforms.
//!
//! A toy: its randomness is no secret, it has no relinearisation, and its parameters are not chosen for security.
//!
//! `cargo run --release -p ringforge --example 05-fhe-multiply`

use num_bigint::BigUint;
use ringforge::{Engine, HostArg, Job, Modulus, Op, Result, Ring};

const N: usize = 4096;
/// The modulus of plaintexts.
const T: u64 = 65537;

/// Jobs on the best device.
struct Jobs(Engine);

impl Jobs {
    /// Runs a job on a batch of polynomials in one call; `last` is its last argument.
    fn run_into(&self, job: &Job, batch: usize, inputs: &[&[u64]], last: &mut [u64]) -> Result<()> {
        let program = self.0.program(job)?;
        let mut args: Vec<HostArg<'_>> = inputs.iter().map(|input| HostArg::from(*input)).collect();
        args.push(HostArg::from(last));
        program.run_host(batch, &mut args)
    }

    fn run(&self, job: &Job, batch: usize, inputs: &[&[u64]]) -> Result<Vec<u64>> {
        let program = self.0.program(job)?;
        let mut out = vec![0; batch * program.plan().args().last().map_or(0, |arg| arg.bytes / 8)];
        self.run_into(job, batch, inputs, &mut out)?;
        Ok(out)
    }

    /// The RNS rows of polynomials with these coefficients, below the product Q of the ring's moduli.
    fn rows(&self, ring: &Ring, coefficients: impl Iterator<Item = BigUint>) -> Result<Vec<u64>> {
        let limbs = modulus(ring).bits().div_ceil(64) as usize;
        let padded = |x: BigUint| x.iter_u64_digits().chain(core::iter::repeat(0)).take(limbs).collect::<Vec<_>>();
        let integers: Vec<u64> = coefficients.flat_map(padded).collect();
        self.run(&Job::new(ring, Op::Decompose), integers.len() / limbs / N, &[&integers])
    }

    /// The coefficients in [0, Q) of polynomials given by RNS rows.
    fn coefficients(&self, ring: &Ring, rows: &[u64]) -> Result<Vec<BigUint>> {
        let integers = self.run(&Job::new(ring, Op::Combine), 8 * rows.len() / ring.bytes(), &[rows])?;
        let limbs = modulus(ring).bits().div_ceil(64) as usize;
        Ok(integers.chunks(limbs).map(|x| BigUint::from_bytes_le(bytemuck::cast_slice(x))).collect())
    }
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
    let jobs = Jobs(Engine::best());
    println!("on {}", jobs.0.device());
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
    let s = jobs.rows(&ring, (0..N).map(|_| small((random() % 3) as i64 - 1)))?;

    // two messages, each encrypted as (c0, c1) with c0 + c1 s = Q/T m + e for a small error e and a random c1
    let messages: Vec<u32> = (0..2 * N).map(|_| (random() % T) as u32).collect();
    let scaled: Vec<BigUint> = messages.iter().map(|&m| (&q * m + T / 2) / T).collect();
    let errors = (0..2 * N).map(|_| small(i64::from((random() & 0xff).count_ones()) - 4));
    let noisy = jobs.rows(&ring, scaled.iter().zip(errors).map(|(m, e)| (m + e) % &q))?;
    let moduli: Vec<u64> = ring.basis().iter().filter_map(Modulus::value_u64).collect();
    let c1: Vec<u64> = (0..6 * N).map(|i| random() % moduli[i / N % 3]).collect();
    let c0 = add(&ring, &noisy, &jobs.run(&Job::new(&ring, Op::Mul), 2, &[&c1, &[&s[..], &s].concat()])?, true);

    // the product modulo Q P, of representatives in (−Q/2, Q/2]: (a0 + a1 s) (b0 + b1 s) = d0 + d1 s + d2 s²
    let extended = jobs.run(&Job::new(&ring, Op::ConvertCentred).to(&wide), 4, &[&[c0, c1].concat()])?;
    let values = jobs.run(&Job::new(&wide, Op::Forward), 4, &[&extended])?;
    let [a0, b0, a1, b1] = [0, 1, 2, 3].map(|i| &values[i * 7 * N..][..7 * N]);
    let (left, right) = ([a0, a0, a1].concat(), [b0, b1, b1].concat());
    let mut products = jobs.run(&Job::new(&wide, Op::PointMul), 3, &[&left, &right])?;
    jobs.run_into(&Job::new(&wide, Op::MulAdd), 1, &[a1, b0], &mut products[7 * N..][..7 * N])?;
    let tensor = jobs.run(&Job::new(&wide, Op::Inverse), 3, &[&products])?;

    // scaled by T/Q and rounded, back modulo Q; a coefficient above QP/2 stands for itself less QP, scaled T·P
    let negative = &q - &qp / &q * T % &q;
    let scale = |x: BigUint| ((&x * T + &q / 2u32) / &q + if x > &qp / 2u32 { &negative } else { &BigUint::ZERO }) % &q;
    let d = jobs.rows(&ring, jobs.coefficients(&wide, &tensor)?.into_iter().map(scale))?;
    let [d0, d1, d2] = [0, 1, 2].map(|i| &d[i * 3 * N..][..3 * N]);

    // decryption: (d2 s + d1) s + d0 is Q/T m plus noise
    let times_s = |x: &[u64]| jobs.run(&Job::new(&ring, Op::Mul), 1, &[x, &s]);
    let phase = add(&ring, &times_s(&add(&ring, &times_s(d2)?, d1, false))?, d0, false);
    let phase: Vec<BigUint> = jobs.coefficients(&ring, &phase)?.into_iter().map(|x| x * T).collect();
    let found: Vec<u32> =
        phase.iter().map(|x| ((x + &q / 2u32) / &q % T).iter_u32_digits().next().unwrap_or(0)).collect();
    let noise = phase.iter().map(|x| (x % &q).min(&q - x % &q)).max().unwrap_or_default();
    println!("{} of {} bits are noise", noise.bits(), q.bits());
    assert!(noise.bits() + 40 < q.bits(), "too much noise");

    // the product of the messages themselves
    let plain = Ring::negacyclic(N, Modulus::new(T)?)?;
    let expected = jobs.0.mul(&plain, &messages[..N], &messages[N..])?;
    assert_eq!(found, expected);
    println!("the product of the ciphertexts decrypts to that of the messages");
    Ok(())
}
