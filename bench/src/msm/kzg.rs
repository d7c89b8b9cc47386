//! KZG commitments and openings over BLS12-381, of polynomials in host memory, and in device memory.

use anyhow::Result;
use ark_bls12_381::{Bls12_381, Fr, G1Affine};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{Field, UniformRand};
use ark_poly::DenseUVPolynomial;
use ark_poly::univariate::DensePolynomial;
use ark_poly_commit::PCCommitmentState;
use ark_poly_commit::kzg10::{Powers, Randomness};
use ark_std::rand::{SeedableRng, rngs::StdRng};
use ringforge::Engine;
use ringforge_arkworks::{Backend, EngineField, KzgDevice, KzgError};
use ringforge_cli::measure;
use ringforge_cli::record::Measurement;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope};

use super::{numbered, points_of};

/// log2 of the numbers of coefficients.
const LOG_N: &[u32] = &[10, 14, 20];
const CPU_LOG_N: &[u32] = &[10];

const COMMIT: &str = "commit";
const OPEN: &str = "open";
const ON_DEVICE: &str = "commit, on the device";
const COMMITS: &str = "batch of commits";
const OPENINGS: &str = "batch of openings";
const COMMIT_TABLES: &str = "commit, tables";
const OPEN_TABLES: &str = "open, tables";
const OPERATIONS: [&str; 7] = [COMMIT, OPEN, ON_DEVICE, COMMITS, OPENINGS, COMMIT_TABLES, OPEN_TABLES];

/// Polynomials of a batch.
const BATCH: usize = 16;

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

fn lines(bench: &Bench, name: &str, n: usize) -> Result<Vec<Measurement>> {
    let mut rng = StdRng::seed_from_u64(bench.seed);
    // multiples in place of the powers of a setup, which would take minutes
    let powers = Powers { powers_of_g: points_of::<G1Affine>(n)?.into(), powers_of_gamma_g: Vec::new().into() };
    let polynomial = DensePolynomial::<Fr>::rand(n - 1, &mut rng);
    let z = Fr::rand(&mut rng);
    let quotient = &polynomial / &DensePolynomial::from_coefficients_vec(vec![-z, Fr::ONE]);
    let expected = [&polynomial, &quotient].map(|of| (G1Affine::generator() * numbered(&of.coeffs)).into_affine());
    let device = KzgDevice::<Bls12_381>::new(&Backend::new(&Engine::on(bench.device.clone())), &powers)?;
    let none = Randomness::empty();
    let stream = bench.device.stream()?;
    let coefficients = stream.upload(&polynomial.coeffs.iter().map(Fr::limbs).collect::<Vec<_>>())?;
    let mut lines = Vec::new();
    // `call` makes this number of commitments to the polynomial (0) or of proofs (1)
    let mut measured = |operation: &str, batch, kind: usize, call: &dyn Fn() -> Result<Vec<G1Affine>, KzgError>| {
        let mut found = Vec::new();
        let times = measure::wall(bench.effort, || {
            found = call()?;
            Ok(())
        })?;
        let right = found == vec![expected[kind]; batch];
        let line = Measurement::new(name, operation, batch, times);
        lines.push(line.checked("one multiple of the generator, from the coefficients", right));
        anyhow::Ok(())
    };
    let commit = |device: &KzgDevice<_>| Ok(vec![device.commit(&polynomial, None, None)?.0.0]);
    let open = |device: &KzgDevice<_>| Ok(vec![device.open(&polynomial, z, &none)?.w]);
    measured(COMMIT, 1, 0, &|| commit(&device))?;
    measured(OPEN, 1, 1, &|| open(&device))?;
    measured(ON_DEVICE, 1, 0, &|| Ok(vec![device.commit_on(&stream, &coefficients, 1)?[0].0]))?;
    measured(COMMITS, BATCH, 0, &|| {
        let made = device.commit_batch(&[(&polynomial, None); BATCH], None)?;
        Ok(made.into_iter().map(|(commitment, _)| commitment.0).collect())
    })?;
    measured(OPENINGS, BATCH, 1, &|| {
        let proofs = device.open_batch(&[(&polynomial, z, &none); BATCH])?;
        Ok(proofs.into_iter().map(|proof| proof.w).collect())
    })?;
    let device = device.with_tables(TABLES)?;
    measured(COMMIT_TABLES, 1, 0, &|| commit(&device))?;
    measured(OPEN_TABLES, 1, 1, &|| open(&device))?;
    Ok(lines)
}
