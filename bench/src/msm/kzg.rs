//! KZG commitments and openings over BLS12-381, of polynomials in host memory.

use anyhow::Result;
use ark_bls12_381::{Bls12_381, Fr, G1Affine};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{AdditiveGroup, Field, UniformRand};
use ark_poly::DenseUVPolynomial;
use ark_poly::univariate::DensePolynomial;
use ark_poly_commit::kzg10::Powers;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use ringforge::Engine;
use ringforge_arkworks::{Backend, DevicePoint, KzgDevice};
use ringforge_cli::measure;
use ringforge_cli::record::Measurement;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope};
use ringforge_msm::multiples;

/// log2 of the numbers of coefficients.
const LOG_N: &[u32] = &[10, 14, 20];
const CPU_LOG_N: &[u32] = &[10];

const OPERATIONS: [&str; 4] = ["commit", "open", "commit, tables", "open, tables"];

/// The memory for tables of multiples, in bytes.
pub(super) const TABLES: usize = 8 << 30;

pub(super) fn cases(scope: &Scope) -> Vec<Case> {
    let case = |&log_n: &u32| {
        let (name, n) = (format!("KZG BLS12-381 2^{log_n}"), 1 << scope.log_n(log_n));
        Case::new(name.clone(), &OPERATIONS, move |bench, wanted| {
            let lines = lines(bench, &name, n)?;
            Ok(lines.into_iter().filter(|line| wanted.has(&line.operation)).collect())
        })
    };
    scope.either(LOG_N, CPU_LOG_N).iter().map(case).collect()
}

/// The sum of coefficients times 1, 2, 3, …, times the generator: their commitment with the powers of this bench.
fn expected(coefficients: &[Fr]) -> G1Affine {
    let (mut number, mut sum) = (Fr::ZERO, Fr::ZERO);
    for coefficient in coefficients {
        number += Fr::ONE;
        sum += number * coefficient;
    }
    (G1Affine::generator() * sum).into_affine()
}

fn lines(bench: &Bench, name: &str, n: usize) -> Result<Vec<Measurement>> {
    let mut rng = StdRng::seed_from_u64(bench.seed);
    let (curve, mut generator) = (G1Affine::curve()?, Vec::new());
    G1Affine::generator().write(&mut generator);
    let bytes = multiples(&curve, bytemuck::cast_slice(&generator), n);
    let point = |bytes: &[u8]| {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        G1Affine::read(&words)
    };
    let of_g: Vec<G1Affine> = bytes.chunks(curve.point_bytes()).map(point).collect();
    // multiples in place of the powers of a setup, which would take minutes
    let powers = Powers { powers_of_g: of_g.into(), powers_of_gamma_g: Vec::new().into() };
    let polynomial = DensePolynomial::<Fr>::rand(n - 1, &mut rng);
    let z = Fr::rand(&mut rng);
    let mut quotient = Vec::new();
    let mut run = Fr::ZERO;
    for coefficient in polynomial.coeffs[1..].iter().rev() {
        run = run * z + coefficient;
        quotient.push(run);
    }
    quotient.reverse();
    let expected = [expected(&polynomial.coeffs), expected(&quotient)];
    let mut device = KzgDevice::<Bls12_381>::new(&Backend::new(&Engine::on(bench.device.clone())), &powers)?;
    let mut lines = Vec::new();
    for operations in OPERATIONS.chunks(2) {
        if lines.len() == 2 {
            device = device.with_tables(TABLES)?;
        }
        let (mut commitment, mut randomness) = device.commit(&polynomial, None, None)?;
        let commit = measure::wall(bench.effort, || {
            (commitment, randomness) = device.commit(&polynomial, None, None)?;
            Ok(())
        })?;
        let mut proof = device.open(&polynomial, z, &randomness)?;
        let open = measure::wall(bench.effort, || {
            proof = device.open(&polynomial, z, &randomness)?;
            Ok(())
        })?;
        let right = [commitment.0, proof.w] == expected;
        for (operation, times) in operations.iter().zip([commit, open]) {
            let line = Measurement::new(name, *operation, 1, times);
            lines.push(line.checked("one multiple of the generator, from the coefficients", right));
        }
    }
    Ok(lines)
}
