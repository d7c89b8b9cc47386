//! BLS12-381's scalar field in arkworks, and its conversion from and to the engine's bytes.

use anyhow::{Context, Result};
use ark_bls12_381::Fr;
use ark_ff::{AdditiveGroup, BigInt, FftField, Field, PrimeField};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use rayon::prelude::*;
use ringforge::{Modulus, PolyType, Ring, U256};
use ringforge_testkit::Random;

/// Maximum number of points for which all evaluations are compared with those of arkworks' transform.
const FEW: usize = 1 << 20;
/// Elements per parallel task.
const SHARE: usize = 1 << 12;

/// The ring `F[x]/(x^n − g^n)` over BLS12-381's scalar field F, where g is `offset`. Evaluations are at g·w^i, where w is
/// arkworks' root of unity of order n.
pub(crate) fn coset(n: usize, offset: Fr) -> Result<PolyType> {
    let (q, root) = (Modulus::new(plain(&Fr::MODULUS.0))?, plain(&root(n)?.into_bigint().0));
    Ok(match offset == Fr::ONE {
        true => PolyType::from(Ring::cyclic(n, q)?.with_root(root)?),
        false => PolyType::from(Ring::coset(n, q, plain(&offset.into_bigint().0), root)?),
    })
}

/// Returns true if `values` are the evaluations of the polynomial with the coefficients `inputs`, on the coset of this
/// offset. Up to 2^20 points are compared with arkworks' transform, more points by [`are_of_one_polynomial`].
pub(crate) fn values_agree(values: &[u8], inputs: &[u8], offset: Fr, random: &mut Random) -> Result<bool> {
    let n = inputs.len() / 32;
    if n <= FEW {
        let domain = Radix2EvaluationDomain::<Fr>::new(n).and_then(|domain| domain.get_coset(offset));
        let domain = domain.context("arkworks has no domain of this size")?;
        let all = domain.fft(&inputs.par_chunks_exact(32).map(element).collect::<Vec<_>>());
        return Ok(all.par_iter().zip(values.par_chunks_exact(32)).all(|(x, value)| bytes(x).as_flattened() == value));
    }
    are_of_one_polynomial(values, inputs, offset, random)
}

/// Returns true if `values` are all reduced and are the evaluations of the polynomial with these n coefficients on the
/// coset of g = `offset`. Both sides are evaluated at a random point z. The evaluations v at the points x of the coset
/// give (z^n − g^n)/(n·g^n)·Σ v·x/(z − x), the barycentric formula. If an evaluation is wrong, the two sides differ at
/// all but n of 2^254 points z.
pub(crate) fn are_of_one_polynomial(
    values: &[u8],
    coefficients: &[u8],
    offset: Fr,
    random: &mut Random,
) -> Result<bool> {
    let (n, root) = (coefficients.len() / 32, root(coefficients.len() / 32)?);
    let z = Fr::from_le_bytes_mod_order([(); 4].map(|()| random.bits().to_le_bytes()).as_flattened());
    let of_share = |(share, values): (usize, &[u8])| {
        let first = offset * root.pow([(share * SHARE) as u64]);
        let points: Vec<Fr> = core::iter::successors(Some(first), |x| Some(root * x)).take(values.len() / 32).collect();
        let mut inverses: Vec<Fr> = points.iter().map(|x| z - x).collect();
        ark_ff::batch_inversion(&mut inverses);
        let values = values.chunks_exact(32).map(element);
        values.zip(points).zip(inverses).map(|((value, x), inverse)| value * x * inverse).sum::<Fr>()
    };
    let sum: Fr = values.par_chunks(32 * SHARE).enumerate().map(of_share).sum();
    let power = offset.pow([n as u64]);
    let alike = evaluate(coefficients, z) * Fr::from(n as u64) * power == (z.pow([n as u64]) - power) * sum;
    let are_reduced = values.par_chunks_exact(32).all(|value| element(value).0 < Fr::MODULUS);
    Ok(values.len() == coefficients.len() && alike && are_reduced)
}

/// Returns the evaluation at x of the polynomial with these coefficients.
pub(super) fn evaluate(coefficients: &[u8], x: Fr) -> Fr {
    let of_share = |(share, coefficients): (usize, &[u8])| {
        let value = coefficients.rchunks_exact(32).fold(Fr::ZERO, |sum, coefficient| sum * x + element(coefficient));
        value * x.pow([(share * SHARE) as u64])
    };
    coefficients.par_chunks(32 * SHARE).enumerate().map(of_share).sum()
}

/// arkworks' root of unity of order n.
fn root(n: usize) -> Result<Fr> {
    Fr::get_root_of_unity(n as u64).with_context(|| format!("arkworks has no root of unity of order {n}"))
}

/// The bytes of an element as stored: four 64-bit limbs in Montgomery form.
pub(crate) fn bytes(x: &Fr) -> [[u8; 8]; 4] {
    x.0.0.map(u64::to_le_bytes)
}

/// The element stored in these bytes.
pub(crate) fn element(bytes: &[u8]) -> Fr {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.chunks_exact(8)) {
        *limb = bytes.iter().rev().fold(0, |limb, &byte| limb << 8 | u64::from(byte));
    }
    Fr::new_unchecked(BigInt(limbs))
}

/// An integer from four 64-bit limbs that are not in Montgomery form.
fn plain(limbs: &[u64; 4]) -> U256 {
    U256::from_le_slice(limbs.map(u64::to_le_bytes).as_flattened())
}
