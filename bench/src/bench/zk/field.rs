//! BLS12-381's scalar field by arkworks, beside the bytes of the engine.

use anyhow::{Context, Result};
use ark_bls12_381::Fr;
use ark_ff::{BigInt, FftField, Field, PrimeField};
use ark_poly::univariate::DensePolynomial;
use ark_poly::{DenseUVPolynomial, EvaluationDomain, Polynomial, Radix2EvaluationDomain};
use rayon::prelude::*;
use ringforge::testkit::Random;
use ringforge::{Modulus, Ring, U256};

/// Up to this many points, all values are compared.
const ALL: usize = 1 << 20;
/// Beyond, so many.
const PLACES: usize = 3;

/// x^n − g^n with arkworks' root: values at g·w^i.
pub(in crate::bench) fn coset(n: usize, offset: Fr) -> Result<Ring> {
    let (q, root) = (Modulus::new(plain(&Fr::MODULUS.0))?, plain(&root(n)?.into_bigint().0));
    Ok(match offset == Fr::ONE {
        true => Ring::cyclic(n, q)?.with_root(root)?,
        false => Ring::coset(n, q, plain(&offset.into_bigint().0), root)?,
    })
}

/// Whether values on a coset are those of the inputs: all of them by arkworks, or some by evaluation.
pub(in crate::bench) fn values_agree(values: &[u8], inputs: &[u8], offset: Fr, random: &mut Random) -> Result<bool> {
    let n = inputs.len() / 32;
    if n <= ALL {
        let domain = Radix2EvaluationDomain::<Fr>::new(n).and_then(|domain| domain.get_coset(offset));
        let domain = domain.context("arkworks has such a domain")?;
        let all = domain.fft(&inputs.par_chunks_exact(32).map(element).collect::<Vec<_>>());
        return Ok(all.par_iter().zip(values.par_chunks_exact(32)).all(|(x, value)| bytes(x).as_flattened() == value));
    }
    let root = root(n)?;
    let places: Vec<usize> = [0, n - 1].into_iter().chain((2..PLACES).map(|_| random.below(n))).collect();
    Ok(places.into_iter().all(|place| {
        let value = evaluate(inputs, offset * root.pow([place as u64]));
        bytes(&value).as_flattened() == &values[32 * place..][..32]
    }))
}

/// The value at x of the polynomial with these coefficients.
pub(super) fn evaluate(coefficients: &[u8], x: Fr) -> Fr {
    let coefficients = coefficients.par_chunks_exact(32).map(element).collect();
    DensePolynomial::from_coefficients_vec(coefficients).evaluate(&x)
}

/// arkworks' n-th root of unity.
fn root(n: usize) -> Result<Fr> {
    Fr::get_root_of_unity(n as u64).with_context(|| format!("no root of order {n}"))
}

/// An element as it is stored: four limbs in Montgomery form.
pub(in crate::bench) fn bytes(x: &Fr) -> [[u8; 8]; 4] {
    x.0.0.map(u64::to_le_bytes)
}

/// The element that is stored so.
pub(in crate::bench) fn element(bytes: &[u8]) -> Fr {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.chunks_exact(8)) {
        *limb = bytes.iter().rev().fold(0, |limb, &byte| limb << 8 | u64::from(byte));
    }
    Fr::new_unchecked(BigInt(limbs))
}

/// A plain value by its limbs.
fn plain(limbs: &[u64; 4]) -> U256 {
    U256::from_le_slice(limbs.map(u64::to_le_bytes).as_flattened())
}
