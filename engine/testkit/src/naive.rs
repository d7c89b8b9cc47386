//! The oracle: slow and simple arithmetic on plain ring elements, with which the results of all other implementations
//! are compared.
//!
//! Elements are vectors of plain residues (not in Montgomery form) in storage order: elements one after another, and in
//! each element one limb for each modulus. A limb has one residue for each of the n coefficients.

use crypto_bigint::U256;

use ringforge_math::factorization::Factorization;
use ringforge_math::modulus::{Modulus, Width};
use ringforge_math::poly::{Form, Order, PolyType};
use ringforge_math::ring::Quotient;

/// Converts stored elements to plain residues, that is, out of Montgomery form. If the ring accepts any word, words are
/// reduced first.
#[must_use]
pub fn to_plain(poly: impl Into<PolyType>, bytes: &[u8]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let inverse = |q| radix(poly, q).and_then(|radix| q.inverse(&radix));
    let inverses: Vec<Option<U256>> = poly.basis().iter().map(inverse).collect();
    let residues = bytes.chunks_exact(poly.width().bytes()).enumerate().map(|(i, bytes)| {
        let mut limbs = [0; 32];
        limbs[..bytes.len()].copy_from_slice(bytes);
        let (value, q) = (U256::from_le_slice(&limbs), modulus(poly, i));
        let value = if poly.accepts_any_word() { q.reduce(&value) } else { value };
        inverses[row(poly, i)].map_or(value, |inverse| q.mul(&value, &inverse))
    });
    residues.collect()
}

/// Converts elements, given by plain residues below their moduli, to their stored bytes.
#[must_use]
pub fn to_stored(poly: impl Into<PolyType>, values: &[U256]) -> Vec<u8> {
    let poly = &poly.into().coefficients();
    let width = poly.width();
    let radices: Vec<Option<U256>> = poly.basis().iter().map(|q| radix(poly, q)).collect();
    let bytes = values.iter().enumerate().flat_map(|(i, value)| {
        let value = radices[row(poly, i)].map_or(*value, |radix| modulus(poly, i).mul(value, &radix));
        value.to_le_bytes().as_ref()[..width.bytes()].to_vec()
    });
    bytes.collect()
}

/// The Montgomery radix R (2^32, 2^64 or 2^256) modulo q, if residues are stored in Montgomery form, which requires an
/// odd q. Otherwise `None`.
fn radix(poly: &PolyType, q: &Modulus) -> Option<U256> {
    if poly.form() == Form::Plain || !q.is_odd() {
        return None;
    }
    let power = match poly.width() {
        Width::W16 => return None,
        Width::W32 => U256::ONE.shl_vartime(32),
        Width::W64 => U256::ONE.shl_vartime(64),
        Width::W256 => U256::MAX, // 2^256 - 1
    };
    let less = u32::from(poly.width() == Width::W256);
    Some(q.add(&q.reduce(&power), &q.reduce(&U256::from(less))))
}

/// Products of elements. Algorithm: schoolbook multiplication, then reduction modulo the ring's polynomial from the
/// highest coefficient down.
#[must_use]
pub fn mul(poly: impl Into<PolyType>, a: &[U256], b: &[U256]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let n = poly.degree();
    let rows = a.chunks_exact(n).zip(b.chunks_exact(n)).enumerate();
    rows.flat_map(|(row, (a, b))| {
        let q = modulus(poly, row * n);
        let mut product = vec![U256::ZERO; 2 * n - 1];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                product[i + j] = q.add(&product[i + j], &q.mul(a, b));
            }
        }
        let tail = poly.quotient().tail(q);
        for k in (n..product.len()).rev() {
            let top = product[k];
            for (exponent, c) in &tail {
                let place = k - n + exponent;
                product[place] = q.add(&product[place], &q.mul(&top, c));
            }
        }
        product.truncate(n);
        product
    })
    .collect()
}

/// Sums of elements.
#[must_use]
pub fn add(poly: impl Into<PolyType>, a: &[U256], b: &[U256]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    a.iter().zip(b).enumerate().map(|(i, (a, b))| modulus(poly, i).add(a, b)).collect()
}

/// Products of elements with one constant per limb, `numbers`.
#[must_use]
pub fn scale(poly: impl Into<PolyType>, a: &[U256], numbers: &[U256]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let number = |i| modulus(poly, i).reduce(&numbers[row(poly, i)]);
    a.iter().enumerate().map(|(i, a)| modulus(poly, i).mul(a, &number(i))).collect()
}

/// The images of elements under the automorphism x → x^k, in a ring modulo x^n − 1 or x^n + 1.
#[must_use]
pub fn automorphism(poly: impl Into<PolyType>, k: usize, a: &[U256]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let n = poly.degree();
    let mut images = vec![U256::ZERO; a.len()];
    for (i, x) in a.iter().enumerate() {
        let (q, row, power) = (modulus(poly, i), i / n * n, i % n * k);
        let turns = power / n % 2 == 1 && matches!(poly.quotient(), Quotient::Negacyclic { .. });
        let x = if turns { q.mul(x, &q.reduce_i64(-1)) } else { *x };
        images[row + power % n] = x;
    }
    images
}

/// Negated elements.
#[must_use]
pub fn negate(poly: impl Into<PolyType>, a: &[U256]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let minus_one: Vec<U256> = poly.basis().iter().map(|q| q.reduce_i64(-1)).collect();
    scale(poly, a, &minus_one)
}

/// Signed digits of elements. Each residue modulo q is taken in (−q/2, q/2] and written with `count` digits to base
/// 2^`bits`, the lowest first. The last digit is the remaining quotient. The order of the result is limb, digit,
/// modulus of `to`, coefficient. Moduli of the elements must have at most 64 bits.
#[must_use]
pub fn digits(poly: impl Into<PolyType>, bits: u32, count: usize, to: impl Into<PolyType>, a: &[U256]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let to = &to.into().coefficients();
    let n = poly.degree();
    let rows = a.chunks_exact(n).enumerate();
    rows.flat_map(|(row, a)| {
        let q = i128::from(modulus(poly, row * n).value_u64().unwrap_or_default());
        let signed = |x: &U256| {
            let x = i128::from(ringforge_math::modulus::low_u64(x));
            if 2 * x > q { x - q } else { x }
        };
        let mut rest: Vec<i128> = a.iter().map(signed).collect();
        let mut digits = Vec::new();
        for i in 0..count {
            let base = 1i128 << bits;
            let lowest = |x: &i128| (x + base / 2).rem_euclid(base) - base / 2;
            let digit: Vec<i128> = if i + 1 < count { rest.iter().map(lowest).collect() } else { rest.clone() };
            rest.iter_mut().zip(&digit).for_each(|(x, digit)| *x = (*x - digit) / base);
            for p in to.basis() {
                digits.extend(digit.iter().map(|digit| p.reduce_i64(*digit as i64)));
            }
        }
        digits
    })
    .collect()
}

/// Evaluations of elements: their remainders modulo each factor x^d − β of the factorisation, by Horner's rule with β
/// in place of x^d.
#[must_use]
pub fn forward(poly: impl Into<PolyType>, factorization: &Factorization, order: Order, a: &[U256]) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let (n, d) = (factorization.n(), factorization.leaf_degree());
    let places = match order {
        Order::Natural => factorization.natural_places(),
        Order::DigitReversed => (0..factorization.leaves()).collect(),
    };
    let mut values = vec![U256::ZERO; a.len()];
    for (row, (a, values)) in a.chunks_exact(n).zip(values.chunks_exact_mut(n)).enumerate() {
        let q = modulus(poly, row * n);
        for (leaf, place) in places.iter().enumerate() {
            let beta =
                factorization.leaf_constant(poly.limb_moduli()[row % poly.basis().len()], leaf).unwrap_or_default();
            let residue = &mut values[place * d..][..d];
            for coefficients in a.chunks_exact(d).rev() {
                for (r, c) in residue.iter_mut().zip(coefficients) {
                    *r = q.add(&q.mul(r, &beta), c);
                }
            }
        }
    }
    values
}

/// Products of evaluations: for each factor x^d − β of the factorisation, schoolbook multiplication modulo this factor.
#[must_use]
pub fn point_mul(
    poly: impl Into<PolyType>,
    factorization: &Factorization,
    order: Order,
    a: &[U256],
    b: &[U256],
) -> Vec<U256> {
    let poly = &poly.into().coefficients();
    let (n, d) = (factorization.n(), factorization.leaf_degree());
    let places = match order {
        Order::Natural => factorization.natural_places(),
        Order::DigitReversed => (0..factorization.leaves()).collect(),
    };
    let mut product = vec![U256::ZERO; a.len()];
    for row in 0..a.len() / n {
        let q = modulus(poly, row * n);
        for (leaf, place) in places.iter().enumerate() {
            let beta =
                factorization.leaf_constant(poly.limb_moduli()[row % poly.basis().len()], leaf).unwrap_or_default();
            let first = row * n + place * d;
            for i in 0..d {
                for j in 0..d {
                    let mut term = q.mul(&a[first + i], &b[first + j]);
                    if i + j >= d {
                        term = q.mul(&term, &beta);
                    }
                    let place = first + (i + j) % d;
                    product[place] = q.add(&product[place], &term);
                }
            }
        }
    }
    product
}

/// The modulus of the residue with this index.
fn modulus(poly: &PolyType, residue: usize) -> &Modulus {
    &poly.basis()[row(poly, residue)]
}

/// The index, in the basis, of the modulus of the residue with this index.
fn row(poly: &PolyType, residue: usize) -> usize {
    residue / poly.degree() % poly.basis().len()
}
