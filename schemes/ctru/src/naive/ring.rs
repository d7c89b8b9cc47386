//! Conversion between polynomials modulo x^n − x^(n/2) + 1 and the evaluations in public keys: the residues of a
//! polynomial modulo the 128 leaves x^(n/128) − β of an incomplete NTT.

use ringforge_e8::oracle::{Polynomial, reciprocal};

pub(super) const Q: i64 = 3457;
/// The number of leaves x^(n/128) − β of the incomplete NTT of public keys.
const LEAVES: usize = 128;

/// Returns β of each leaf x^(n/128) − β, in the order of public keys.
fn leaves() -> Vec<i64> {
    let factorization = |exponents: Vec<usize>, _| exponents.into_iter().flat_map(|e| [e / 2, e / 2 + 192]).collect();
    let exponents = (0..6).fold(vec![64, 320], factorization);
    exponents.into_iter().map(|e| (0..e).fold(1, |power, _| power * 55 % Q)).collect()
}

/// Returns the residues of h modulo the leaves x^d − β, in the order of public keys.
pub(super) fn values(h: &[i64]) -> impl Iterator<Item = i64> {
    let d = h.len() / LEAVES;
    leaves().into_iter().flat_map(move |beta| {
        (0..d).map(move |j| (0..LEAVES).rev().fold(0, |sum, k| (sum * beta + h[k * d + j]).rem_euclid(Q)))
    })
}

/// Returns the polynomial with these residues modulo the leaves x^d − β, by Lagrange interpolation in y = x^d at the
/// zeros β of y^128 − y^64 + 1.
pub(super) fn coefficients(values: &[i64]) -> Polynomial {
    let d = values.len() / LEAVES;
    let mut h = vec![0; values.len()];
    for (value, beta) in values.chunks(d).zip(leaves()) {
        // the quotient of y^128 − y^64 + 1 by y − β (Horner's scheme, from the highest coefficient)
        let mut basis = [1; LEAVES];
        for k in (0..LEAVES - 1).rev() {
            basis[k] = (beta * basis[k + 1] - i64::from(k + 1 == LEAVES / 2)).rem_euclid(Q);
        }
        let unit = reciprocal(basis.iter().rev().fold(0, |sum, b| (sum * beta + b) % Q), Q);
        for (h, b) in h.chunks_mut(d).zip(basis) {
            h.iter_mut().zip(value).for_each(|(h, value)| *h = (*h + value * b % Q * unit) % Q);
        }
    }
    h
}
