//! Roots of unity, and roots of the constants c of binomials x^n − c, for factorisation trees of radix 2 and 3. All are
//! modulo a prime q.

use crypto_bigint::{NonZero, U256};

use crate::modulus::Modulus;

/// Returns true if a power of the root `named` has this order. Without `named`, returns true if the modulus has a root
/// of this order.
pub(super) fn leads_to_order(q: &Modulus, named: Option<U256>, order: u64) -> bool {
    named.map_or_else(|| q.has_root(order), |named| smooth_order(q, &named).is_some_and(|found| found % order == 0))
}

/// Returns the power of the root `named` that has this order. Without `named`, returns the default root of this order.
pub(super) fn root_of_order(q: &Modulus, named: Option<U256>, order: u64) -> Option<U256> {
    let Some(named) = named else { return q.root(order) };
    let found = smooth_order(q, &named).filter(|found| found % order == 0)?;
    Some(q.pow(&named, &U256::from(found / order)))
}

/// Returns the multiplicative order of x if it is 2^a·3^b with a ≤ 40 and b ≤ 13, else `None`.
fn smooth_order(q: &Modulus, x: &U256) -> Option<u64> {
    let twos = prime_power_order(q, q.pow(x, &U256::from(3u64.pow(13))), 2, 40)?;
    let threes = prime_power_order(q, q.pow(x, &U256::from(1u64 << 40)), 3, 13)?;
    twos.checked_mul(threes).filter(|&order| q.has_order(x, order))
}

/// Returns the order of x if it is a power of `prime` with an exponent of at most `most`, else `None`.
fn prime_power_order(q: &Modulus, mut x: U256, prime: u64, most: u32) -> Option<u64> {
    let one = q.reduce(&U256::ONE);
    for exponent in 0..=most {
        if x == one {
            return Some(prime.pow(exponent));
        }
        x = q.pow(&x, &U256::from(prime));
    }
    None
}

/// A constant c = u·v modulo a prime q, where the order of u is 2^a·3^b and that of v is divisible by neither 2 nor 3.
pub(super) struct Constant {
    q: Modulus,
    c: U256,
    u: U256,
    v: U256,
    order_of_u: U256,
    /// q − 1 without its factors 2 and 3.
    rest: U256,
}

impl Constant {
    /// Decomposes the constant c; returns `None` if c = 0.
    pub(super) fn new(q: &Modulus, c: U256) -> Option<Self> {
        let (smooth, rest) = without_small_primes(q.value().wrapping_sub(&U256::ONE));
        let u = match smooth == U256::ONE {
            true => q.reduce(&U256::ONE),
            false => q.pow(&c, &rest.wrapping_mul(&inverse(&rest, smooth)?)),
        };
        let mut order_of_u = smooth;
        for prime in [2, 3] {
            while let Some(less) = divided(&order_of_u, prime).filter(|less| q.pow(&u, less) == q.reduce(&U256::ONE)) {
                order_of_u = less;
            }
        }
        Some(Self { q: *q, c, u, v: q.mul(&c, &q.inverse(&u)?), order_of_u, rest }).filter(|c| c.c != U256::ZERO)
    }

    /// Returns true if some γ has γ^t = c and there are primitive t-th roots of unity, for t = 2^a·3^b.
    pub(super) fn has_root(&self, t: u64) -> bool {
        self.order_of_root(t)
            .is_some_and(|order| self.q.value().wrapping_sub(&U256::ONE).rem_vartime(&order) == U256::ZERO)
    }

    /// Returns γ with γ^t = c = u·v, as the product of a t-th root of v and a t-th root of u. The root of v is a power
    /// of v. The root of u has t times the order of u. It is the first suitable power of the modulus's default root of
    /// unity of this larger order. Returns `None` if [`has_root`](Self::has_root) is false.
    pub(super) fn root(&self, t: u64) -> Option<U256> {
        let q = &self.q;
        if t == 1 {
            return Some(self.c);
        }
        let order = self.order_of_root(t)?;
        let generator = match order.bits_vartime() {
            ..=64 => q.root(crate::modulus::low_u64(&order))?,
            _ => q.first_root(&order, &[2, 3])?,
        };
        let log = logarithm(q, q.pow(&generator, &U256::from(t)), self.u, self.order_of_u)?;
        let root = q.pow(&generator, if log == U256::ZERO { &self.order_of_u } else { &log });
        match self.rest == U256::ONE {
            true => Some(root),
            false => Some(q.mul(&root, &q.pow(&self.v, &inverse(&U256::from(t), self.rest)?))),
        }
    }

    fn order_of_root(&self, t: u64) -> Option<NonZero<U256>> {
        self.order_of_u.checked_mul(&U256::from(t)).into_option().and_then(|order| NonZero::new(order).into_option())
    }
}

/// Returns the discrete logarithm k < order with base^k = x, by Pohlig–Hellman, lowest digit first. `order` must be the
/// order of `base` and equal 2^a·3^b, and x must be a power of `base`.
fn logarithm(q: &Modulus, mut base: U256, mut x: U256, mut order: U256) -> Option<U256> {
    let (mut k, mut place) = (U256::ZERO, U256::ONE);
    while order != U256::ONE {
        let (radix, rest) = [2, 3].into_iter().find_map(|radix| Some((radix, divided(&order, radix)?)))?;
        let (unit, seen) = (q.pow(&base, &rest), q.pow(&x, &rest));
        let digit = (0..radix).find(|&digit| q.pow(&unit, &U256::from(digit)) == seen)?;
        x = q.mul(&x, &q.pow(&q.inverse(&base)?, &U256::from(digit)));
        k = k.wrapping_add(&place.wrapping_mul(&U256::from(digit)));
        place = place.wrapping_mul(&U256::from(radix));
        base = q.pow(&base, &U256::from(radix));
        order = rest;
    }
    Some(k)
}

/// Factors x into a part 2^a·3^b and the rest, which neither 2 nor 3 divides.
fn without_small_primes(x: U256) -> (U256, U256) {
    let (mut smooth, mut rest) = (U256::ONE, x);
    for prime in [2, 3] {
        while let Some(less) = divided(&rest, prime) {
            (smooth, rest) = (smooth.wrapping_mul(&U256::from(prime)), less);
        }
    }
    (smooth, rest)
}

/// Returns x / prime if it is an integer, else `None`.
fn divided(x: &U256, prime: u64) -> Option<U256> {
    let (quotient, remainder) = x.div_rem_vartime(&NonZero::new(U256::from(prime)).into_option()?);
    (remainder == U256::ZERO).then_some(quotient)
}

/// Returns x^-1 modulo m > 1, or `None` if there is no inverse.
fn inverse(x: &U256, m: U256) -> Option<U256> {
    let m = NonZero::new(m).into_option()?;
    x.rem_vartime(&m).invert_mod(&m).into_option()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first t-th root of c found by a search through the powers of the modulus's default root.
    fn searched(q: &Modulus, c: &U256, t: u64) -> Option<U256> {
        let order = smooth_order(q, c)?;
        let generator = q.root(order * t)?;
        let powers = core::iter::successors(Some(generator), |root| Some(q.mul(root, &generator)));
        powers.take(order as usize).find(|root| q.pow(root, &U256::from(t)) == *c)
    }

    /// Compares roots of every constant modulo small primes with a search. The choice of root for a constant of order
    /// 2^a·3^b is part of a ring's definition, so it must not change.
    #[test]
    fn roots_of_constants_match_a_search() {
        for q in [2u64, 3, 5, 7, 13, 19, 31, 37, 73, 97, 109, 163, 193] {
            let all = || (1..q).map(U256::from);
            let q = Modulus::new(q).unwrap();
            assert!(Constant::new(&q, U256::ZERO).is_none());
            for t in [1, 2, 3, 4, 6, 8, 9, 27, 36, 64, 81] {
                let powers: Vec<U256> = all().map(|x| q.pow(&x, &U256::from(t))).collect();
                for c in all() {
                    let constant = Constant::new(&q, c).unwrap();
                    assert_eq!(
                        constant.has_root(t),
                        powers.contains(&c) && q.has_root(t),
                        "{t}-th roots of {c} mod {q}"
                    );
                    let root = constant.root(t).filter(|_| constant.has_root(t));
                    assert_eq!(root.map(|root| q.pow(&root, &U256::from(t))), constant.has_root(t).then_some(c));
                    if let Some(searched) = searched(&q, &c, t) {
                        assert_eq!(root, Some(searched), "{t}-th root of {c} mod {q}");
                    }
                }
            }
        }
    }

    /// Checks roots of constants in groups of order 2^32·…, 2^96·… and 2^27·3·…, where a search would take minutes or
    /// never end.
    #[test]
    fn roots_of_constants_in_large_groups() {
        let p224 = "ffffffffffffffffffffffffffffffff000000000000000000000001";
        let moduli = [Modulus::new(0xffff_ffff_0000_0001u64), Modulus::from_hex(p224), Modulus::new(0x7800_0001u64)];
        for q in moduli.map(|q| q.unwrap()) {
            for (x, t) in [(7u64, 2), (9_668_162_425_460_973_202, 8), (12_345, 1 << 20), (u64::MAX - 5, 3)] {
                let c = q.pow(&q.reduce(&U256::from(x)), &U256::from(t));
                let constant = Constant::new(&q, c).unwrap();
                assert_eq!(constant.has_root(t), q.has_root(t));
                let root = constant.root(t).filter(|_| q.has_root(t));
                assert_eq!(root.map(|root| q.pow(&root, &U256::from(t))), q.has_root(t).then_some(c));
            }
        }
    }
}
