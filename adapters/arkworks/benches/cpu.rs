//! Benchmarks [`Domain`] against ark-poly's domain on the CPU. The two alternate in one process, on data in natural
//! order. Their results are compared, and the minimum time of each is printed.
//!
//! `RAYON_NUM_THREADS=2 cargo bench -p ringforge-arkworks --bench cpu -- 16 18 20`

use std::error::Error;
use std::time::{Duration, Instant};

use ark_bls12_381::Fr;
use ark_ff::{FftField, Field, UniformRand};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use ark_std::rand::{SeedableRng, rngs::StdRng};
use rayon::prelude::*;
use ringforge::Engine;
use ringforge_arkworks::{Backend, Domain};

/// An in-place transform.
type Way<'a> = &'a dyn Fn(&mut Vec<Fr>);

fn main() -> Result<(), Box<dyn Error>> {
    Backend::new(&Engine::cpu()).share().map_err(|_| "another backend is already shared")?;
    let logs: Vec<u32> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    println!("{:>24} {:>12} {:>12}", "ms", "ark-poly", "here");
    for log in if logs.is_empty() { vec![16, 18, 20] } else { logs } {
        let n = 1usize << log;
        let mut rng = StdRng::seed_from_u64(u64::from(log));
        let x: Vec<Fr> = (0..n).map(|_| Fr::rand(&mut rng)).collect();
        for (name, offset) in [("", Fr::from(1)), (" on a coset", Fr::GENERATOR)] {
            let domain = Domain::of_size(n, offset)?;
            let stock = Radix2EvaluationDomain::new_coset(n, offset).ok_or("no coset")?;
            let forward: [Way<'_>; 2] = [&|x| stock.fft_in_place(x), &|x| domain.fft_in_place(x)];
            let inverse: [Way<'_>; 2] = [&|x| stock.ifft_in_place(x), &|x| domain.ifft_in_place(x)];
            for (side, ways) in [("forward", forward), ("inverse", inverse)] {
                let [theirs, ours] = by_turns(&x, ways).map(|time| time.as_secs_f64() * 1e3);
                println!("{:>24} {theirs:>12.2} {ours:>12.2}", format!("2^{log} {side}{name}"));
            }
        }
        // the Lagrange step of key setup: the evaluations of the Lagrange polynomials at tau are the inverse transform
        // of the powers of tau
        let (stock, domain) = (Radix2EvaluationDomain::new(n).ok_or("no domain")?, Domain::of_size(n, Fr::from(1))?);
        let tau = x[0];
        let ways: [Way<'_>; 2] =
            [&|x| *x = stock.evaluate_all_lagrange_coefficients(tau), &|x| *x = powers_back(&domain, tau)];
        let [theirs, ours] = by_turns(&x, ways).map(|time| time.as_secs_f64() * 1e3);
        println!("{:>24} {theirs:>12.2} {ours:>12.2}", format!("2^{log} Lagrange"));
    }
    Ok(())
}

/// Returns the inverse transform of the powers of tau, which consists of the evaluations of the Lagrange polynomials at
/// tau.
fn powers_back(domain: &Domain<Fr>, tau: Fr) -> Vec<Fr> {
    const PIECE: usize = 1 << 12;
    let mut powers = vec![Fr::from(1); domain.size()];
    powers.par_chunks_mut(PIECE).enumerate().for_each(|(i, piece)| {
        let mut power = tau.pow([(i * PIECE) as u64]);
        for x in piece {
            *x = power;
            power *= tau;
        }
    });
    domain.ifft_in_place(&mut powers);
    powers
}

/// Runs the two transforms alternately on copies of `x` and returns the minimum time of each. Panics if their results
/// differ.
fn by_turns(x: &[Fr], ways: [Way<'_>; 2]) -> [Duration; 2] {
    let mut least = [Duration::MAX; 2];
    for _ in 0..(1 << 24) / x.len().max(1 << 19) {
        let results = [0, 1].map(|i| {
            let mut data = x.to_vec();
            let start = Instant::now();
            ways[i](&mut data);
            least[i] = least[i].min(start.elapsed());
            data
        });
        assert!(results[0] == results[1], "the results differ");
    }
    least
}
