//! Conversions between RNS bases and integers by their definition.

use anyhow::{Context, Result};
use ringforge::testkit::{Random, naive};
use ringforge::{Job, Op, Ring, U256};

/// Whether an item's integers or residues are right in this many random coefficients.
pub(super) fn agree(job: &Job, from: &[u8], to: &[u8], count: usize, random: &mut Random) -> Result<bool> {
    let n = job.ring.degree();
    let places: Vec<usize> = [0, n - 1].into_iter().chain((2..count).map(|_| random.below(n))).collect();
    Ok(match job.op {
        Op::Compose | Op::Decompose => {
            let (residues, integers) = if job.op == Op::Compose { (from, to) } else { (to, from) };
            let residues = naive::to_plain(&job.ring, residues);
            let size = integers.len() / n;
            let modulus = job.ring.basis().iter().fold(U256::ONE, |product, q| product.wrapping_mul(&q.value()));
            places.iter().all(|&place| {
                let mut wide = [0; 32];
                wide[..size].copy_from_slice(&integers[place * size..][..size]);
                let x = U256::from_le_slice(&wide);
                let rows = job.ring.basis().iter().zip(residues.chunks_exact(n));
                x < modulus && rows.into_iter().all(|(q, row)| q.reduce(&x) == row[place])
            })
        }
        op => {
            let target = job.target.as_ref().context("a conversion has a target")?;
            let (from, to) = (words(&job.ring, from)?, words(target, to)?);
            places.iter().all(|&place| {
                let terms =
                    terms(&from.iter().map(|(q, row)| (*q, row[place])).collect::<Vec<_>>(), op != Op::ConvertFast);
                let is_negative = op == Op::ConvertCentred && exceeds_half(&terms, &from);
                to.iter().all(|(p, row)| {
                    let product =
                        |factors: &[u64]| factors.iter().fold(1, |product, factor| mul(product, factor % p, *p));
                    let terms = terms.iter().map(|(digit, weight)| u128::from(mul(digit % p, product(weight), *p)));
                    let all: Vec<u64> = from.iter().map(|(q, _)| *q).collect();
                    let wrapped = if is_negative { u128::from(p - product(&all)) } else { 0 };
                    (terms.sum::<u128>() + wrapped) % u128::from(*p) == u128::from(row[place])
                })
            })
        }
    })
}

/// The limbs of an item as words, with their moduli.
fn words(ring: &Ring, bytes: &[u8]) -> Result<Vec<(u64, Vec<u64>)>> {
    let plain = naive::to_plain(ring, bytes);
    let limbs = ring.basis().iter().zip(plain.chunks_exact(ring.degree()));
    let low =
        |x: &U256| x.to_le_bytes().as_ref().iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    limbs.map(|(q, limb)| Ok((q.value_u64().context("a modulus of a word")?, limb.iter().map(low).collect()))).collect()
}

/// Digits of the integer with these residues modulo primes, each with the factors of its weight: q_0 … q_(i−1) if exact
/// (mixed radix, by Garner's method), else all but q_i.
fn terms(residues: &[(u64, u64)], exact: bool) -> Vec<(u64, Vec<u64>)> {
    let mut terms: Vec<(u64, Vec<u64>)> = Vec::new();
    for (i, &(q, x)) in residues.iter().enumerate() {
        let others = residues.iter().enumerate().filter(|&(j, _)| if exact { j < i } else { j != i });
        let weight: Vec<u64> = others.map(|(_, &(other, _))| other).collect();
        let product = |factors: &[u64]| factors.iter().fold(1, |product, factor| mul(product, factor % q, q));
        let before = terms.iter().map(|(digit, weight)| mul(digit % q, product(weight), q));
        let rest = if exact { before.fold(x, |x, term| (x + (q - term)) % q) } else { x };
        let mut inverse = 1;
        for bit in (0..u64::BITS).rev() {
            inverse = mul(inverse, inverse, q);
            if (q - 2) >> bit & 1 == 1 {
                inverse = mul(inverse, product(&weight), q);
            }
        }
        terms.push((mul(rest, inverse, q), weight));
    }
    terms
}

/// Whether mixed-radix digits are those of more than half of the product of odd moduli, (Q − 1) / 2.
fn exceeds_half(digits: &[(u64, Vec<u64>)], moduli: &[(u64, Vec<u64>)]) -> bool {
    let half = terms(&moduli.iter().map(|(q, _)| (*q, (q - 1) / 2)).collect::<Vec<_>>(), true);
    digits.iter().rev().map(|(digit, _)| digit).gt(half.iter().rev().map(|(digit, _)| digit))
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}
