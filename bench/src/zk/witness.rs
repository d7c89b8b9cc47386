//! Witness maps of a Groth16 prover: seven transforms over BLS12-381's scalar field and the steps between them, with
//! all data on the device.
//!
//! Every sample runs on fresh copies of n random evaluations of a and of b, and of c = a·b. The last sample's quotient
//! h is checked: h·(x^n − 1) = a·b − c must hold at a random x, with polynomials a, b and c interpolated by arkworks.

use anyhow::{Context, Result};
use ark_bls12_381::Fr;
use ark_ff::{Field, One};
use ark_poly::univariate::DensePolynomial;
use ark_poly::{DenseUVPolynomial, EvaluationDomain, Polynomial, Radix2EvaluationDomain};
use rayon::prelude::*;
use ringforge::Engine;
use ringforge_arkworks::{Backend, Reduction};
use ringforge_testkit::Random;

use super::field::{bytes, coset, element, evaluate};
use ringforge_cli::measure::Times;
use ringforge_cli::record::Measurement;
use ringforge_cli::sample;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope};

/// Timed samples per measurement; one more run warms up.
const SAMPLES: usize = 9;
/// log2 of the number of points, on a GPU (only the first with `--quick`) and on a CPU.
const LOG_N: &[u32] = &[20, 22];
const CPU_LOG_N: &[u32] = &[14];

pub(super) fn cases(scope: &Scope) -> Vec<Case> {
    let sizes = scope.either(LOG_N, CPU_LOG_N);
    let case = |&log_n: &u32| {
        let (name, n) = (format!("witness map 2^{log_n}"), 1 << scope.log_n(log_n));
        Case::of_batches(name.clone(), "", vec![1], move |bench, _| line(bench, name.clone(), n))
    };
    sizes.iter().take(if scope.quick { 1 } else { sizes.len() }).map(case).collect()
}

fn line(bench: &Bench, name: String, n: usize) -> Result<Measurement> {
    let ring = coset(n, Fr::ONE)?;
    let mut random = Random::new(bench.seed);
    let values = sample::elements(&ring, random.bits(), 0, 2)?;
    let (a, b) = values.split_at(ring.bytes());
    let products = a.par_chunks_exact(32).zip(b.par_chunks_exact(32));
    let c: Vec<[[u8; 8]; 4]> = products.map(|(a, b)| bytes(&(element(a) * element(b)))).collect();
    let c = c.as_flattened().as_flattened();

    let map = Backend::new(&Engine::on(bench.device.clone())).witness_map::<Fr>(Reduction::Libsnark, n)?;
    let stream = bench.device.stream()?;
    let (mut seconds, mut quotient) = (Vec::new(), Vec::new());
    for _ in 0..=SAMPLES {
        let [mut a, mut b, mut c] = [stream.upload(a)?, stream.upload(b)?, stream.upload(c)?];
        let before = stream.mark()?;
        map.run(&stream, &mut a, &mut b, &mut c)?;
        let after = stream.mark()?;
        quotient = stream.download::<u8>(&c)?;
        seconds.push(after.seconds_since(&before)?);
    }
    let right = is_quotient(&quotient, [a, b, c], &mut random)?;
    let line = Measurement::new(name, "", 1, Times::of(seconds.split_off(1), 1, 1)).in_ring(&ring);
    Ok(line.checked("the quotient at a random place, by arkworks", right))
}

/// Returns true if h·(x^n − 1) = a·b − c at a random x, for coefficients of h and evaluations of a, b and c.
fn is_quotient(h: &[u8], values: [&[u8]; 3], random: &mut Random) -> Result<bool> {
    let n = h.len() / 32;
    let domain = Radix2EvaluationDomain::<Fr>::new(n).context("arkworks has no domain of this size")?;
    let x = Fr::from(random.bits());
    let [a, b, c] = values.map(|values| {
        let values: Vec<Fr> = values.par_chunks_exact(32).map(element).collect();
        DensePolynomial::from_coefficients_vec(domain.ifft(&values)).evaluate(&x)
    });
    Ok(evaluate(h, x) * (x.pow([n as u64]) - Fr::one()) == a * b - c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_quotients_are_noticed() -> Result<()> {
        // for a = b = c = 1, a·b − c is 0, so that only the quotient 0 is right
        let (zeros, ones) = ([0; 64], [bytes(&Fr::one()); 2]);
        let ones = ones.as_flattened().as_flattened();
        assert!(is_quotient(&zeros, [ones, ones, ones], &mut Random::new(1))?);
        assert!(!is_quotient(&zeros, [ones, ones, &zeros], &mut Random::new(1))?);
        assert!(!is_quotient(ones, [ones, ones, ones], &mut Random::new(1))?);
        Ok(())
    }
}
