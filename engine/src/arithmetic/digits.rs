//! Precomputation of [`Arithmetic::Mod255`](super::Arithmetic::Mod255) for a modulus q: −q mod 2^256 in signed digits.

use crypto_bigint::U256;

use super::descriptor::Value;
use ringforge_math::modulus::Modulus;

/// Whether q is odd and below 2^255 − 2^230, so that Shoup products with truncated quotients map residues below 2q to
/// residues below 2q.
pub(super) fn in_range(q: &Modulus) -> bool {
    let end = U256::ONE.wrapping_shl_vartime(255).wrapping_sub(&U256::ONE.wrapping_shl_vartime(230));
    q.is_odd() && q.value() < end
}

/// The signed digits of −q mod 2^256 to base 2^32, least significant first; `None` is the digit −1. The digit −1
/// replaces a limb of all ones and carries one into the next limb.
pub(super) fn of(q: &Modulus) -> [Option<u32>; 8] {
    let limbs = Value::limbs(&U256::ZERO.wrapping_sub(&q.value())).words();
    let mut carry = 0;
    core::array::from_fn(|i| {
        let limb = u64::from(limbs[i]) + carry;
        carry = u64::from(limb >= u64::from(u32::MAX));
        if limb == u64::from(u32::MAX) { None } else { Some(limb as u32) }
    })
}

/// Encodes the kind of each digit of [`of`] in two bits, least significant digit first: zero (1), one (2), minus one
/// (3), or any other digit (0).
pub(super) fn pattern(q: &Modulus) -> u32 {
    of(q).iter().rev().fold(0, |pattern, digit| {
        pattern << 2
            | match digit {
                Some(0) => 1,
                Some(1) => 2,
                Some(_) => 0,
                None => 3,
            }
    })
}
