//! A cache of the default roots of unity, one per modulus and order, for the whole process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crypto_bigint::U256;

use super::{gcd, mul_mod};

/// Maximum number of cached roots.
const MOST: usize = 1 << 14;

/// The cached roots, by modulus and order.
static FOUND: Mutex<BTreeMap<(U256, u64), U256>> = Mutex::new(BTreeMap::new());

/// Returns the root of this order modulo q from the cache. If the root is missing, computes it with `find` and stores
/// it, first emptying a full cache. Returns `None` if `find` does.
pub(super) fn remembered(q: U256, order: u64, find: impl FnOnce() -> Option<U256>) -> Option<U256> {
    let found = || FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(root) = found().get(&(q, order)) {
        return Some(*root);
    }
    let root = find()?;
    let mut all = found();
    if all.len() >= MOST {
        all.clear();
    }
    all.insert((q, order), root);
    Some(root)
}

/// Number of powers that are computed in parallel, in independent sequences, to hide the latency of multiplication.
const LANES: usize = 8;

/// Returns the smallest primitive root of this order modulo q. Searches the powers of `root`, which must be a primitive
/// root of the same order.
pub(super) fn smallest(q: u64, root: u64, order: u64) -> u64 {
    // if the order is even, only odd powers of `root` can have this order
    let (stride, step) = if order.is_multiple_of(2) { (2, mul_mod(root, root, q)) } else { (1, root) };
    let mut powers = [root; LANES];
    for lane in 1..LANES {
        powers[lane] = mul_mod(powers[lane - 1], step, q);
    }
    let step = (0..LANES.trailing_zeros()).fold(step, |step, _| mul_mod(step, step, q));
    let quotient = ((u128::from(step) << 64) / u128::from(q)) as u64;
    let mut smallest = root;
    for first in (1..order).step_by(stride * LANES) {
        for (lane, power) in powers.iter_mut().enumerate() {
            // exponents beyond the order repeat earlier powers
            if *power < smallest && gcd(first + (stride * lane) as u64, order) == 1 {
                smallest = *power;
            }
            *power = times(*power, step, quotient, q);
        }
    }
    smallest
}

/// Returns x·y mod q for x, y < q, by Shoup multiplication with the quotient ⌊y·2^64/q⌋. The estimated quotient is
/// exact or one too small.
fn times(x: u64, y: u64, quotient: u64, q: u64) -> u64 {
    let estimate = ((u128::from(x) * u128::from(quotient)) >> 64) as u64;
    // below 2q, so up to 65 bits
    let product = u128::from(x) * u128::from(y) - u128::from(estimate) * u128::from(q);
    (if product >= u128::from(q) { product - u128::from(q) } else { product }) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modulus::Modulus;

    #[test]
    fn roots_are_the_smallest_of_their_order() {
        for (q, orders) in [(97u64, &[1u64, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96][..]), (12289, &[3, 96, 4096])] {
            let modulus = Modulus::new(q).unwrap();
            for &order in orders {
                let wanted = (1..q).find(|x| modulus.has_order(&U256::from(*x), order)).map(U256::from);
                assert_eq!(modulus.root(order), wanted, "{order} modulo {q}");
                assert_eq!(modulus.root(order), wanted, "{order} modulo {q}, remembered");
            }
        }
    }
}
