//! A modulus q, the width of its residues in memory, and arithmetic in Z_q for precomputation.

use core::fmt;

use crypto_bigint::{NonZero, U256, U768};
use ringforge_cpu::Limbs;

use crate::decimal::decimal;
use crate::error::{Error, Result};

mod roots;

/// The type in which a residue is stored, the same on the CPU and on a GPU. A 256-bit residue is four 64-bit limbs,
/// least significant first.
///
/// Residues are in [0, q). By default, residues of 16, 32 and 64 bits are plain values, and those of 256 bits are in
/// Montgomery form, x·2^256 mod q; `PolyType::with_form` changes the form. Residues modulo an even q, which has no
/// Montgomery form, are always plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// `u16`, for q of up to 16 bits.
    W16,
    /// `u32`, for q of up to 32 bits.
    W32,
    /// `u64`, for q of up to 64 bits.
    W64,
    /// `[u64; 4]`, for q of up to 256 bits.
    W256,
}

impl Width {
    /// Bytes of one stored residue.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::W16 => 2,
            Self::W32 => 4,
            Self::W64 => 8,
            Self::W256 => 32,
        }
    }
}

/// A modulus q ≥ 2 of up to 256 bits.
///
/// Its methods compute with plain values. They are exact and simple, but neither fast nor constant-time, so they are
/// meant for precomputation only.
///
/// ```
/// use ringforge::Modulus;
/// let q = Modulus::new(3457u32)?;
/// assert!(q.is_prime());
/// assert_eq!(q.root(384), Some(10u32.into()));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Modulus {
    q: NonZero<U256>,
    prime: bool,
}

/// The largest order for which [`Modulus::root`] searches for the smallest primitive root.
const SMALLEST_ROOT_ORDER: u64 = 1 << 20;

impl Modulus {
    /// Creates the modulus q.
    ///
    /// # Errors
    /// [`Error::Modulus`] if q is 0 or 1.
    pub fn new(q: impl Into<U256>) -> Result<Self> {
        let q = q.into();
        if q < U256::from(2u32) {
            return Err(Error::Modulus { q, why: "must be at least 2" });
        }
        let prime = crypto_primes::is_prime(crypto_primes::Flavor::Any, &q);
        let q = NonZero::new(q).into_option().ok_or(Error::Modulus { q, why: "must be at least 2" })?;
        Ok(Self { q, prime })
    }

    /// Creates a modulus from big-endian hexadecimal digits, with or without `0x`.
    ///
    /// # Errors
    /// [`Error::Modulus`] if there are not 1 to 64 hexadecimal digits, or the number is below 2.
    pub fn from_hex(digits: &str) -> Result<Self> {
        let digits = digits.trim_start_matches("0x");
        let valid = !digits.is_empty() && digits.len() <= 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if !valid {
            return Err(Error::Modulus { q: U256::ZERO, why: "expected 1 to 64 hexadecimal digits" });
        }
        Self::new(U256::from_be_hex(&format!("{digits:0>64}")))
    }

    /// Returns q.
    #[must_use]
    pub fn value(&self) -> U256 {
        *self.q
    }

    /// Returns q if it fits 64 bits, else `None`.
    #[must_use]
    pub fn value_u64(&self) -> Option<u64> {
        (self.bits() <= 64).then(|| low_u64(&self.q))
    }

    /// Returns the number of bits of q.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.q.bits_vartime()
    }

    /// Returns the narrowest width in which residues can be stored.
    #[must_use]
    pub fn width(&self) -> Width {
        match self.bits() {
            ..=16 => Width::W16,
            17..=32 => Width::W32,
            33..=64 => Width::W64,
            _ => Width::W256,
        }
    }

    /// Returns true if q is prime. The Baillie–PSW test is proven below 2^64 and has no known exception above.
    #[must_use]
    pub fn is_prime(&self) -> bool {
        self.prime
    }

    /// Returns x mod q.
    #[must_use]
    pub fn reduce(&self, x: &U256) -> U256 {
        x.rem_vartime(&self.q)
    }

    /// Returns x mod q, for an x of up to 768 bits.
    pub fn reduce_wide(&self, x: &U768) -> U256 {
        x.rem_vartime(&self.q)
    }

    /// Returns x mod q, in [0, q), for a signed x.
    #[must_use]
    pub fn reduce_i64(&self, x: i64) -> U256 {
        let magnitude = self.reduce(&U256::from(x.unsigned_abs()));
        if x < 0 { self.neg(&magnitude) } else { magnitude }
    }

    /// Returns a + b mod q, for a, b < q.
    #[must_use]
    pub fn add(&self, a: &U256, b: &U256) -> U256 {
        a.add_mod(b, &self.q)
    }

    /// Returns a − b mod q, for a, b < q.
    #[must_use]
    pub fn sub(&self, a: &U256, b: &U256) -> U256 {
        a.sub_mod(b, &self.q)
    }

    /// Returns −a mod q, for a < q.
    #[must_use]
    pub fn neg(&self, a: &U256) -> U256 {
        self.sub(&U256::ZERO, a)
    }

    /// Returns a·b mod q, for a, b < q.
    #[must_use]
    pub fn mul(&self, a: &U256, b: &U256) -> U256 {
        if self.bits() <= 64 {
            return U256::from(mul_mod(low_u64(a), low_u64(b), low_u64(&self.q)));
        }
        U256::rem_wide_vartime(a.widening_mul(b), &self.q)
    }

    /// Returns a^e mod q, for a < q.
    #[must_use]
    pub fn pow(&self, a: &U256, e: &U256) -> U256 {
        let mut power = self.reduce(&U256::ONE);
        for bit in (0..e.bits_vartime()).rev() {
            power = self.mul(&power, &power);
            if e.bit_vartime(bit) {
                power = self.mul(&power, a);
            }
        }
        power
    }

    /// Returns the inverse of a modulo q, or `None` if there is none.
    #[must_use]
    pub fn inverse(&self, a: &U256) -> Option<U256> {
        match self.value_u64() {
            Some(q) => inverse_mod(low_u64(a), q).map(U256::from),
            None => a.invert_mod(&self.q).into_option(),
        }
    }

    /// Returns q^-1 mod 2^256 for odd q, by Newton iteration. Its low k bits are the inverse modulo 2^k.
    pub fn inverse_mod_word(&self) -> U256 {
        let mut inverse = self.value(); // correct in its low 3 bits; each step doubles their number
        for _ in 0..7 {
            inverse = inverse.wrapping_mul(&U256::from(2u32).wrapping_sub(&self.q.wrapping_mul(&inverse)));
        }
        inverse
    }

    /// Returns x·2^256 mod q, the Montgomery form of a 256-bit residue.
    #[must_use]
    pub fn to_montgomery(&self, x: &U256) -> U256 {
        U256::rem_wide_vartime((U256::ZERO, *x), &self.q)
    }

    /// Returns the plain value of a 256-bit residue in Montgomery form, or `None` for even q, which has no such form.
    #[must_use]
    pub fn from_montgomery(&self, x: &U256) -> Option<U256> {
        self.inverse(&self.to_montgomery(&U256::ONE)).map(|inverse| self.mul(x, &inverse))
    }

    /// Returns the default primitive root of unity of the given order modulo a prime q, or `None` if there is none.
    ///
    /// If q has up to 64 bits and the order is at most 2^20, the default is the smallest such root. Otherwise it is
    /// g^((q−1)/order) for the smallest g for which this power has the full order, because a search for the smallest
    /// root would take too long.
    #[must_use]
    pub fn root(&self, order: u64) -> Option<U256> {
        roots::remembered(self.value(), order, || {
            let root = self.first_root(&U256::from(order), &prime_factors(order).collect::<Vec<_>>())?;
            match self.value_u64() {
                Some(q) if order <= SMALLEST_ROOT_ORDER => Some(U256::from(roots::smallest(q, low_u64(&root), order))),
                _ => Some(root),
            }
        })
    }

    /// Returns g^((q−1)/order) for the smallest g for which this power has exactly this order, or `None` if there is
    /// none. `factors` must contain the prime factors of `order`.
    pub fn first_root(&self, order: &U256, factors: &[u64]) -> Option<U256> {
        let (exponent, remainder) = self.order_cofactor(order)?;
        if !self.prime || remainder != U256::ZERO {
            return None;
        }
        let bases = core::iter::successors(Some(U256::ONE), |base| Some(base.wrapping_add(&U256::ONE)));
        let mut candidates = bases.take_while(|base| *base < *self.q).map(|base| self.pow(&base, &exponent));
        candidates.find(|candidate| self.is_of_order(candidate, order, factors))
    }

    /// Returns true if x has exactly this multiplicative order.
    #[must_use]
    pub fn has_order(&self, x: &U256, order: u64) -> bool {
        order > 0 && self.is_of_order(x, &U256::from(order), &prime_factors(order).collect::<Vec<_>>())
    }

    fn is_of_order(&self, x: &U256, order: &U256, factors: &[u64]) -> bool {
        let one = self.reduce(&U256::ONE);
        let part = |p: &u64| NonZero::new(U256::from(*p)).into_option().map(|p| order.div_rem_vartime(&p).0);
        self.pow(x, order) == one && factors.iter().filter_map(part).all(|part| self.pow(x, &part) != one)
    }

    /// Returns true if there are primitive roots of this order: if q is prime and `order` divides q − 1.
    #[must_use]
    pub fn has_root(&self, order: u64) -> bool {
        self.prime && self.order_cofactor(&U256::from(order)).is_some_and(|(_, remainder)| remainder == U256::ZERO)
    }

    fn order_cofactor(&self, order: &U256) -> Option<(U256, U256)> {
        let order = NonZero::new(*order).into_option()?;
        Some(self.q.wrapping_sub(&U256::ONE).div_rem_vartime(&order))
    }

    /// Returns true if q is odd.
    #[must_use]
    pub fn is_odd(&self) -> bool {
        bool::from(self.q.is_odd())
    }
}

impl fmt::Display for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(&self.q))
    }
}

impl fmt::Debug for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modulus({self})")
    }
}

/// Returns the low 64 bits of x.
pub fn low_u64(x: &U256) -> u64 {
    let bytes = x.to_le_bytes();
    let mut low = [0u8; 8];
    low.copy_from_slice(&bytes.as_ref()[..8]);
    u64::from_le_bytes(low)
}

/// Returns the four 64-bit limbs of x, least significant first.
pub fn limbs(x: &U256) -> Limbs {
    bytemuck::pod_read_unaligned(x.to_le_bytes().as_ref())
}

/// Returns the number with these limbs, least significant first.
pub fn value(limbs: &Limbs) -> U256 {
    U256::from_le_slice(bytemuck::cast_slice(limbs))
}

/// Returns the greatest common divisor of a and b.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn mul_mod(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

/// Returns the inverse of a modulo q, or `None` if there is none. Uses the extended Euclidean algorithm, with the
/// invariant rest.0 = rest.1·a mod q.
fn inverse_mod(a: u64, q: u64) -> Option<u64> {
    let (mut rest, mut next) = ((q, 0i128), (a, 1i128));
    while next.0 > 0 {
        let quotient = rest.0 / next.0;
        (rest, next) = (next, (rest.0 % next.0, rest.1 - i128::from(quotient) * next.1));
    }
    (rest.0 == 1).then(|| rest.1.rem_euclid(i128::from(q)) as u64)
}

/// Yields the distinct prime factors of x > 0, smallest first.
fn prime_factors(mut x: u64) -> impl Iterator<Item = u64> {
    let mut candidate = 2;
    core::iter::from_fn(move || {
        while x > 1 {
            if candidate > x / candidate {
                candidate = x;
            }
            if x.is_multiple_of(candidate) {
                while x.is_multiple_of(candidate) {
                    x /= candidate;
                }
                return Some(candidate);
            }
            candidate += 1;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that inverses modulo q of up to 64 bits agree with those of the 256-bit algorithm.
    #[test]
    fn inverses_are_inverses() {
        for q in [2, 3, 12, 97, 1 << 63, u64::MAX - 58, u64::MAX - 1, u64::MAX] {
            let modulus = Modulus::new(q).unwrap();
            for a in (0..40).chain(q.saturating_sub(40)..q).map(|a| a % q) {
                let found = modulus.inverse(&U256::from(a));
                assert_eq!(found, U256::from(a).invert_mod(&modulus.q).into_option(), "{a} modulo {q}");
            }
        }
    }
}
