//! Residue number systems: conversions between RNS bases and integers, and bases for integers of bounded size.

use crypto_bigint::U768;

use crate::job::{Job, Op};
use crate::kernels::compose::Compose;
use crate::kernels::convert::Convert;
use crate::kernels::crt::{MAX_PRIMES, product};
use crate::kernels::decompose::Decompose;
use crate::pipeline::Value;
use crate::planner::Planner;
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::PolyType;
use ringforge_math::primes;
use ringforge_runtime::plan::Plan;

/// Plans an operation that converts between RNS limbs and integers, or between two RNS bases.
///
/// # Errors
/// [`Error::Unsupported`] if a modulus repeats or has more than 64 bits, for more than 64 moduli, and for a conversion
/// without a target. Also for moduli that are not coprime, except in `Decompose`. [`Error::Mismatch`] for a target
/// whose quotient or number of columns differs from that of the job's ring.
pub(super) fn plan(planner: &Planner, job: &Job) -> Result<Plan> {
    let poly = &job.poly;
    let p = planner.of_kernels(job);
    let rows = |poly: &PolyType| poly.coefficients();
    match job.op {
        Op::Compose => {
            let [integers] = p.step(Compose::new(poly)?, &[p.coefficients("from", poly)]);
            p.output("to", integers);
        }
        Op::Decompose => {
            let [residues] = p.step(Decompose::new(poly)?, &[p.input("from")]);
            p.output("to", residues.holding(rows(poly)));
        }
        op => {
            let target = job.target.as_ref();
            let target = target.ok_or_else(|| Error::unsupported(op, poly, "it needs a target ring: call Job::to"))?;
            if (target.quotient(), target.columns()) != (poly.quotient(), poly.columns()) {
                let (expected, got) = (poly.quotient().to_string(), target.quotient().to_string());
                return Err(Error::Mismatch { what: "the quotient of the target ring".into(), expected, got });
            }
            let from = p.coefficients("from", poly);
            let convert = |from: Value<'_>, poly: &PolyType, target: &PolyType| {
                let [converted] = p.step(Convert::new(op, poly, target, job.batch_hint)?, &[from]);
                Ok(converted.holding(rows(target)))
            };
            let converted = match (poly.of_vector(), target.of_vector()) {
                (Some((one, count)), Some((to, same))) if count == same => convert(from.each(), &one, &to)?.together(),
                _ => convert(from, poly, target)?,
            };
            p.output("to", converted);
        }
    }
    p.build()
}

/// Checks that the product of the primes exceeds 2·bound, so that residues determine an integer from −bound to bound.
///
/// # Errors
/// [`Error::Inexact`], with the needed and the available bits, if the product of the primes is too small.
pub(super) fn prove(bound: &U768, primes: &[Modulus]) -> Result<()> {
    let twice = bound.wrapping_add(bound);
    match product(primes) {
        Some(product) if product <= twice => {
            Err(Error::Inexact { needed_bits: twice.bits_vartime(), available_bits: product.bits_vartime() - 1 })
        }
        _ => Ok(()), // a product of more than 768 bits exceeds any bound
    }
}

/// The largest primes below 2^bits with roots of unity of this order, in ascending order. There are as few as suffice
/// to represent integers from −bound to bound. `None` if there are too few such primes.
pub(super) fn primes(order: u64, bits: u32, bound: &U768) -> Option<Vec<Modulus>> {
    let mut basis = Vec::new();
    for p in primes::primes(order, bits).take(MAX_PRIMES) {
        basis.insert(0, p);
        if prove(bound, &basis).is_ok() {
            return Some(basis);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_has_only_the_primes_it_needs() {
        let bound = U768::from(1u64 << 40);
        let primes = primes(1536, 30, &bound).unwrap();
        let values: Vec<u64> = primes.iter().filter_map(Modulus::value_u64).collect();
        assert!(values.is_sorted() && values.len() == 2 && values.iter().all(|p| p % 1536 == 1 && p >> 30 == 0));
        assert_eq!(prove(&bound, &primes), Ok(()));
        assert_eq!(prove(&bound, &primes[1..]), Err(Error::Inexact { needed_bits: 42, available_bits: 29 }));
    }

    #[test]
    fn exactness_is_sharp() {
        let p = [Modulus::new(17u32).unwrap()];
        assert_eq!(prove(&U768::from(8u32), &p), Ok(()));
        assert_eq!(prove(&U768::from(9u32), &p), Err(Error::Inexact { needed_bits: 5, available_bits: 4 }));
    }

    #[test]
    fn large_orders_may_lack_primes() {
        assert_eq!(primes(1 << 29, 30, &U768::ONE), None);
        assert!(primes(1 << 29, 62, &U768::ONE).is_some());
    }
}
