//! Residue number systems: bases for integers of a known size, and back from residues to integers.

use std::sync::Arc;

use crypto_bigint::U256;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::kernels::combine::Combine;
use crate::kernels::crt::{MAX_PRIMES, product};
use crate::modulus::Modulus;
use crate::plan::{Content, Plan, Slot, Step};

/// The plan that turns RNS rows into integers.
///
/// # Errors
/// [`Error::Unsupported`] for more than 64 moduli or one of more than 64 bits.
pub(super) fn combine(job: &Job) -> Result<Plan> {
    let kernel = Combine::new(&job.ring)?;
    let slots = vec![Slot::Arg(0), Slot::Table(kernel.table()), Slot::Arg(1)];
    let plan = Plan::new(job.to_string(), vec![Step { kernel: Arc::new(kernel), slots }])?;
    plan.with_contents(vec![Some(Content::Coefficients(job.ring.clone())), None])
}

/// Whether integers from −bound to bound can be told apart by their residues modulo these primes, or what is missing.
///
/// # Errors
/// [`Error::Inexact`].
pub(super) fn prove(bound: &U256, primes: &[Modulus]) -> Result<()> {
    let twice = bound.wrapping_add(bound);
    match product(primes) {
        Some(product) if product <= twice => {
            Err(Error::Inexact { needed_bits: twice.bits_vartime(), available_bits: product.bits_vartime() - 1 })
        }
        _ => Ok(()), // a product of more than 256 bits is beyond any bound
    }
}

/// The largest primes below 2^bits with roots of unity of this order, as many as `bound` needs, in ascending order;
/// `None` where there are not enough.
pub(super) fn primes(order: u64, bits: u32, bound: &U256) -> Option<Vec<Modulus>> {
    let step = if order.is_multiple_of(2) { order } else { 2 * order };
    let mut candidate = ((1u64 << bits) - 1).checked_sub(1)? / step * step + 1;
    let mut primes = Vec::new();
    while candidate > step && primes.len() < MAX_PRIMES {
        let p = Modulus::new(candidate).ok()?;
        if p.is_prime() {
            primes.insert(0, p);
            if prove(bound, &primes).is_ok() {
                return Some(primes);
            }
        }
        candidate -= step;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_is_the_largest_that_is_needed() {
        let bound = U256::from(1u64 << 40);
        let primes = primes(1536, 30, &bound).unwrap();
        let values: Vec<u64> = primes.iter().filter_map(Modulus::value_u64).collect();
        assert!(values.is_sorted() && values.len() == 2 && values.iter().all(|p| p % 1536 == 1 && p >> 30 == 0));
        assert_eq!(prove(&bound, &primes), Ok(()));
        assert_eq!(prove(&bound, &primes[1..]), Err(Error::Inexact { needed_bits: 42, available_bits: 29 }));
    }

    #[test]
    fn exactness_is_sharp() {
        let p = [Modulus::new(17u32).unwrap()];
        assert_eq!(prove(&U256::from(8u32), &p), Ok(()));
        assert_eq!(prove(&U256::from(9u32), &p), Err(Error::Inexact { needed_bits: 5, available_bits: 4 }));
    }

    #[test]
    fn large_orders_may_lack_primes() {
        assert_eq!(primes(1 << 29, 30, &U256::ONE), None);
        assert!(primes(1 << 29, 62, &U256::ONE).is_some());
    }
}
