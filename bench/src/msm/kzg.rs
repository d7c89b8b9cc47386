//! KZG commitments and openings over BLS12-381, of polynomials in host memory.

use anyhow::Result;
use ark_bls12_381::{Bls12_381, Fr, G1Affine};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{Field, UniformRand};
use ark_poly::DenseUVPolynomial;
use ark_poly::univariate::DensePolynomial;
use ark_poly_commit::kzg10::Powers;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use ringforge::Engine;
use ringforge_arkworks::{Backend, KzgDevice};
use ringforge_cli::measure;
use ringforge_cli::record::Measurement;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope};

use super::{numbered, points_of};

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

fn lines(bench: &Bench, name: &str, n: usize) -> Result<Vec<Measurement>> {
    let mut rng = StdRng::seed_from_u64(bench.seed);
    // multiples in place of the powers of a setup, which would take minutes
    let powers = Powers { powers_of_g: points_of::<G1Affine>(n)?.into(), powers_of_gamma_g: Vec::new().into() };
    let polynomial = DensePolynomial::<Fr>::rand(n - 1, &mut rng);
    let z = Fr::rand(&mut rng);
    let quotient = &polynomial / &DensePolynomial::from_coefficients_vec(vec![-z, Fr::ONE]);
    let expected = [&polynomial, &quotient].map(|of| (G1Affine::generator() * numbered(&of.coeffs)).into_affine());
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
