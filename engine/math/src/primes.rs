//! Searches for primes with roots of unity of a given order.

use crate::error::{Error, Result};
use crate::modulus::Modulus;

/// Maximum number of primes per call.
const MOST: usize = 1 << 16;

impl Modulus {
    /// Returns the `count` largest primes of exactly `bits` bits that are 1 modulo `order`, in descending order. Modulo
    /// these primes there are primitive roots of this order. A negacyclic ring of degree n needs order 2n.
    ///
    /// ```
    /// use ringforge::{Modulus, Ring};
    /// let basis = Modulus::ntt_primes(2 * 4096, 60, 3)?;
    /// assert_eq!(basis[0].to_string(), "1152921504606830593");
    /// let ring = Ring::rns(4096, &basis)?;
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `bits` is from 2 to 64 and `order` is positive; [`Error::TooLarge`] if there are
    /// fewer than `count` such primes, or `count` exceeds 2^16.
    pub fn ntt_primes(order: u64, bits: u32, count: usize) -> Result<Vec<Self>> {
        if !(2..=64).contains(&bits) || order == 0 {
            let job = format!("a search for primes of {bits} bits that are 1 modulo {order}");
            return Err(Error::Unsupported {
                job,
                why: "the bits must be from 2 to 64, and the order positive".into(),
            });
        }
        if count > MOST {
            return Err(Error::TooLarge { what: "the number of primes", limit: MOST, got: count });
        }
        let primes: Vec<Self> = primes(order, bits).take_while(|p| p.bits() == bits).take(count).collect();
        match primes.len() {
            found if found < count => Err(Error::TooLarge { what: "the number of primes", limit: found, got: count }),
            _ => Ok(primes),
        }
    }

    /// Like [`Modulus::ntt_primes`], but returns only primes that are also 1 modulo 2^32. Multiples of these primes are
    /// cheap to compute. If they have up to 61 bits, GPU transforms modulo them are faster
    /// (`Arithmetic::Mod64Friendly`). For an order of 2^32 or a smaller power of two, there are 64 such primes of 60
    /// bits above 2^60 − 2^43.
    ///
    /// ```
    /// use ringforge::Modulus;
    /// let basis = Modulus::friendly_ntt_primes(2 * 65536, 60, 64)?;
    /// assert!(basis.iter().all(|q| q.value_u64().is_some_and(|q| q % (1 << 32) == 1)));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Modulus::ntt_primes`]; also [`Error::TooLarge`] if the least common multiple of `order` and 2^32
    /// exceeds 64 bits.
    pub fn friendly_ntt_primes(order: u64, bits: u32, count: usize) -> Result<Vec<Self>> {
        let odd = order.checked_shr(order.trailing_zeros().min(32)).unwrap_or(0);
        match odd.checked_mul(1 << 32) {
            Some(order) => Self::ntt_primes(order, bits, count),
            None => Err(Error::TooLarge { what: "the number of primes", limit: 0, got: count }),
        }
    }
}

/// Yields the primes below 2^bits that are 1 modulo `order`, largest first. `bits` must be from 2 to 64 and `order`
/// positive.
pub fn primes(order: u64, bits: u32) -> impl Iterator<Item = Modulus> {
    let most = (u64::MAX >> (64 - bits)) - 1;
    let candidates = core::iter::successors(Some(most / order * order + 1), move |p| p.checked_sub(order));
    candidates.filter_map(|p| Modulus::new(p).ok()).filter(Modulus::is_prime)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(order: u64, bits: u32, count: usize) -> Vec<u64> {
        let primes = Modulus::ntt_primes(order, bits, count).unwrap_or_else(|e| panic!("{order} {bits} {count}: {e}"));
        primes.iter().filter_map(Modulus::value_u64).collect()
    }

    #[test]
    fn primes_descend_and_none_is_missing() {
        assert_eq!(values(1, 2, 2), [3, 2]);
        assert_eq!(values(1, 5, 5), [31, 29, 23, 19, 17]);
        assert_eq!(values(256, 12, 1), [3329]);
        assert_eq!(values(1, 64, 2), [u64::MAX - 58, u64::MAX - 82]);
        assert_eq!(values(1 << 32, 64, 1), [0xffff_ffff_0000_0001]);
        for order in [1, 2, 3, 6, 8, 30] {
            let all = (512..1024u64).rev().filter(|p| p % order == 1 % order && (2..*p).all(|d| p % d != 0));
            let all: Vec<u64> = all.collect();
            assert_eq!(values(order, 10, all.len()), all);
            let one_more = Modulus::ntt_primes(order, 10, all.len() + 1);
            assert_eq!(
                one_more,
                Err(Error::TooLarge { what: "the number of primes", limit: all.len(), got: all.len() + 1 })
            );
        }
    }

    #[test]
    fn friendly_primes_are_the_largest_of_their_kind() -> Result<()> {
        for (order, common) in [(1, 1 << 32), (1 << 17, 1 << 32), (1 << 33, 1 << 33), (3 << 16, 3 << 32), (9, 9 << 32)]
        {
            assert_eq!(Modulus::friendly_ntt_primes(order, 60, 3)?, Modulus::ntt_primes(common, 60, 3)?, "{order}");
        }
        assert!(matches!(Modulus::friendly_ntt_primes(0, 60, 1), Err(Error::Unsupported { .. })));
        assert!(matches!(Modulus::friendly_ntt_primes((1 << 32) + 1, 60, 1), Err(Error::TooLarge { limit: 0, .. })));
        assert!(matches!(Modulus::friendly_ntt_primes(2, 32, 1), Err(Error::TooLarge { limit: 0, .. })));
        Ok(())
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for (order, bits) in [(0, 10), (8, 0), (8, 1), (8, 65), (8, u32::MAX)] {
            assert!(matches!(Modulus::ntt_primes(order, bits, 1), Err(Error::Unsupported { .. })), "{order} {bits}");
        }
        assert!(matches!(Modulus::ntt_primes(u64::MAX, 20, 1), Err(Error::TooLarge { limit: 0, got: 1, .. })));
        assert_eq!(values(8, 20, 0), [0u64; 0]);
    }
}
