//! Checks conversions between RNS bases and integers by the Chinese remainder theorem.

use anyhow::{Context, Result};
use num_bigint::BigUint;
use ringforge::{Job, Op, PolyType, U256};
use ringforge_testkit::{Random, naive};

/// Returns true if an item's integers or residues are right at `count` coefficients: the first, the last and random
/// ones.
pub(super) fn agree(job: &Job, from: &[u8], to: &[u8], count: usize, random: &mut Random) -> Result<bool> {
    let n = job.poly.degree();
    let mut places = [0, n - 1].into_iter().chain((2..count).map(|_| random.below(n)));
    let (residues, integers) = if job.op == Op::Decompose { (to, from) } else { (from, to) };
    let (moduli, rows) = (moduli(&job.poly), naive::to_plain(&job.poly, residues));
    let product: BigUint = moduli.iter().product();
    // for each modulus, the product of the other moduli and the inverse of this product
    let weights = moduli.iter().map(|q| {
        let others = &product / q;
        Some((others.modinv(q)?, others))
    });
    let weights: Vec<_> = weights.collect::<Option<_>>().context("the moduli must be pairwise coprime")?;
    let sum = |place: usize| -> BigUint {
        let terms = moduli.iter().zip(&weights).enumerate();
        terms.map(|(row, (q, (inverse, others)))| integer(&rows[row * n + place]) * inverse % q * others).sum()
    };
    let Some(target) = &job.target else {
        let size = integers.len() / n;
        return Ok(
            places.all(|place| sum(place) % &product == BigUint::from_bytes_le(&integers[place * size..][..size]))
        );
    };
    let converted = naive::to_plain(target, to);
    Ok(places.all(|place| {
        let (sum, exact) = (sum(place), sum(place) % &product);
        self::moduli(target).iter().enumerate().all(|(row, p)| {
            let expected = match job.op {
                Op::ConvertFast => &sum % p,
                // the centred representative x − Q of a large x is negative, where Q is the product of all moduli
                Op::ConvertCentred if &exact + &exact > product => p - (&product - &exact) % p,
                _ => &exact % p,
            };
            expected % p == integer(&converted[row * n + place])
        })
    }))
}

/// The moduli of a ring, one per limb, as integers.
fn moduli(ring: &PolyType) -> Vec<BigUint> {
    ring.basis().iter().map(|q| integer(&q.value())).collect()
}

fn integer(x: &U256) -> BigUint {
    BigUint::from_bytes_le(x.to_le_bytes().as_ref())
}
