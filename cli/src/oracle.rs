//! Checks results by the definition. In rings too large for a full check, sampled evaluations and coefficients are each
//! computed by definition.

mod bases;

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use ringforge::factorization::Factorization;
use ringforge::{Job, Op, Order, PolyType, U256, Width};
use ringforge_testkit::{Random, naive};

/// Maximum number of coefficient products of an item for which the whole result is computed. `MOST_PRODUCTS` is the
/// limit for products modulo a polynomial with more terms than x^n − c, where a single coefficient has no short
/// formula.
const FULL_PRODUCTS: usize = 1 << 20;
const MOST_PRODUCTS: usize = 16 << 20;
/// Maximum number of coefficient products of all sampled positions together.
const SAMPLED_PRODUCTS: usize = 2 << 20;

/// Returns true if one item of a job's result is right by definition. Checks the whole result if that takes few
/// products, else random positions of each limb. Operands are in the order of their names.
pub(crate) fn agrees(job: &Job, operands: &[&[u8]], result: &[u8], random: &mut Random) -> Result<bool> {
    let ring = &job.poly;
    let (limbs, n) = (ring.basis().len(), ring.degree());
    let count = (SAMPLED_PRODUCTS / limbs / n).clamp(2, 64);
    if let ([from], Op::Compose | Op::Decompose | Op::Convert | Op::ConvertCentred | Op::ConvertFast) =
        (operands, job.op)
    {
        return bases::agree(job, from, result, count, random);
    }
    let products = limbs.saturating_mul(n).saturating_mul(n);
    // 256-bit products take much longer
    let is_full = products <= if ring.width() == Width::W256 { FULL_PRODUCTS >> 4 } else { FULL_PRODUCTS };
    let plain = |bytes: &[u8]| naive::to_plain(ring, bytes);
    let operands: Vec<Vec<U256>> = operands.iter().map(|operand| plain(operand)).collect();
    let result = plain(result);
    if let ([a, b], Op::Mul) = (&operands[..], job.op) {
        let is_binomial = ring.ring().quotient().tail(&ring.basis()[0]).len() == 1;
        return if is_full || !is_binomial && products <= MOST_PRODUCTS {
            Ok(naive::mul(ring, a, b) == result)
        } else {
            product_agrees(ring, [a, b, &result], count, random)
        };
    }
    let split = Factorization::of(ring, job.depth)?;
    let forward = |a: &[U256], values: &[U256], random: &mut Random| match is_full {
        true => naive::forward(ring, &split, job.order, a) == values,
        false => places_agree(ring, &split, job.order, [a, values], count, random),
    };
    Ok(match (&operands[..], job.op) {
        ([a], Op::Forward) => forward(a, &result, random),
        ([values], Op::Inverse) => forward(&result, values, random),
        ([a, b], Op::PointMul) => naive::point_mul(ring, &split, job.order, a, b) == result,
        ([a, b, sum], Op::MulAdd) => naive::add(ring, &naive::point_mul(ring, &split, job.order, a, b), sum) == result,
        _ => anyhow::bail!("there is no reference implementation of {}", job.op),
    })
}

/// Returns true if `values`, the evaluations of `a`, are right at `count` random positions of each limb. An evaluation
/// is the residue of `a` modulo a leaf x^d − β of the factorisation, computed by substituting β for x^d.
fn places_agree(
    ring: &PolyType,
    split: &Factorization,
    order: Order,
    [a, values]: [&[U256]; 2],
    count: usize,
    random: &mut Random,
) -> bool {
    let (n, d) = (split.poly().degree(), split.leaf_degree());
    let places = (order == Order::Natural).then(|| split.natural_places());
    let leaves: Vec<usize> = (0..count).map(|_| random.below(split.leaves())).collect();
    let rows = a.par_chunks_exact(n).zip(values.par_chunks_exact(n)).enumerate();
    let right = |(row, (a, values)): (usize, (&[U256], &[U256]))| {
        let q = &ring.basis()[row];
        leaves.iter().all(|&leaf| {
            let beta = split.leaf_constant(ring.limb_moduli()[row], leaf).unwrap_or_default();
            let mut residue = vec![U256::ZERO; d];
            for coefficients in a.chunks_exact(d).rev() {
                residue.iter_mut().zip(coefficients).for_each(|(r, c)| *r = q.add(&q.mul(r, &beta), c));
            }
            let place = places.as_ref().map_or(leaf, |places| places[leaf]);
            residue == values[place * d..][..d]
        })
    };
    rows.all(right)
}

/// Returns true if coefficients of the product of a and b modulo x^n − c are right at `count` random positions of each
/// limb. Coefficient k is Σ a_i b_j over i + j = k plus c Σ a_i b_j over i + j = n + k. Returns an error for other
/// quotients.
fn product_agrees(ring: &PolyType, [a, b, product]: [&[U256]; 3], count: usize, random: &mut Random) -> Result<bool> {
    let n = ring.degree();
    let places: Vec<usize> = (0..count).map(|_| random.below(n)).collect();
    for (row, q) in ring.basis().iter().enumerate() {
        let tail = ring.ring().quotient().tail(q);
        let (exponent, c) = tail.first().context("the quotient must not be x^n alone")?;
        ensure!(tail.len() == 1 && *exponent == 0, "{ring} is too large to check");
        let [a, b, product] = [a, b, product].map(|element| &element[row * n..][..n]);
        let sum = |a: &[U256], b: &[U256]| {
            a.iter().zip(b.iter().rev()).fold(U256::ZERO, |sum, (a, b)| q.add(&sum, &q.mul(a, b)))
        };
        let right = |&k: &usize| {
            let (low, wrapped) = (sum(&a[..=k], &b[..=k]), sum(&a[k + 1..], &b[k + 1..]));
            product[k] == q.add(&low, &q.mul(c, &wrapped))
        };
        if !places.par_iter().all(right) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_checks_accept_right_and_reject_wrong_results() -> Result<()> {
        for text in ["12289,40961:x^64+1", "3329:x^256+1", "12289:x^16-7"] {
            let ring: PolyType = text.parse()?;
            let size = ring.bytes();
            let bytes = ringforge_testkit::residues(&ring, 1, 2);
            let [a, b] = [&bytes[..size], &bytes[size..]].map(|bytes| naive::to_plain(&ring, bytes));
            let mut random = Random::new(2);
            let mut product = naive::mul(&ring, &a, &b);
            assert!(product_agrees(&ring, [&a, &b, &product], 9, &mut random)?);
            // each residue of the last limb is wrong, so any sampled position must detect it
            let q = ring.basis().last().context("a basis")?;
            product.iter_mut().rev().take(ring.degree()).for_each(|x| *x = q.add(x, &U256::ONE));
            assert!(!product_agrees(&ring, [&a, &b, &product], 1, &mut random)?);
            if let Ok(split) = Factorization::of(&ring, None) {
                for order in [Order::DigitReversed, Order::Natural] {
                    let mut values = naive::forward(&ring, &split, order, &a);
                    assert!(places_agree(&ring, &split, order, [&a, &values], 9, &mut random));
                    values.iter_mut().rev().take(ring.degree()).for_each(|x| *x = q.add(x, &U256::ONE));
                    assert!(!places_agree(&ring, &split, order, [&a, &values], 1, &mut random));
                }
            }
        }
        let sparse: PolyType = "65537:x^5-3x^2+1".parse()?;
        let zeros = [U256::ZERO; 5];
        assert!(product_agrees(&sparse, [&zeros; 3], 1, &mut Random::new(3)).is_err());
        Ok(())
    }
}
