//! Test helpers: conversions from and to arbitrary-precision integers, and roots of test rings.

use num_bigint::BigUint;

use crate::layout::HEADER;
use crate::{Limbs, Modulus, Roots};

/// Returns the limbs of a number.
pub(crate) fn of(x: &BigUint) -> Limbs {
    let mut limbs = [0; 4];
    limbs.iter_mut().zip(x.iter_u64_digits()).for_each(|(limb, digit)| *limb = digit);
    limbs
}

/// Returns the number with these limbs.
pub(crate) fn from(limbs: &Limbs) -> BigUint {
    limbs.iter().rev().fold(BigUint::ZERO, |x, limb| (x << 64) + *limb)
}

/// Returns the modulus q of an arithmetic that stores residues as x·2^`form`.
pub(crate) fn modulus(q: &BigUint, form: u32) -> Modulus {
    Modulus { q: of(q), one: of(&((BigUint::from(1u32) << form) % q)) }
}

/// Returns true if q is a probable prime (Miller–Rabin with six fixed bases).
pub(crate) fn is_prime(q: &BigUint) -> bool {
    let less = q - 1u32;
    let twos = less.trailing_zeros().unwrap_or(0);
    [2u32, 3, 5, 7, 11, 13].iter().all(|base| {
        let mut x = BigUint::from(*base).modpow(&(&less >> twos), q);
        let ends = x == BigUint::from(1u32);
        ends || (0..twos).any(|_| {
            let is_last = x == less;
            x = &x * &x % q;
            is_last
        })
    })
}

/// Returns roots for transforms modulo x^n + 1 and a prime q, with `layers` layers of radix 2. Residues are stored as
/// x·2^`form`.
pub(crate) fn negacyclic(q: &BigUint, layers: usize, form: u32) -> Roots {
    let word = |x: &BigUint| of(&((x << form) % q));
    let (unit, order) = (BigUint::from(1u32), BigUint::from(2u32) << layers);
    let inverse = |x: &BigUint| x.modpow(&(q - 2u32), q);
    let candidates = (2u32..).map(|x| BigUint::from(x).modpow(&((q - 1u32) / &order), q));
    let start = candidates.into_iter().find(|x| x.modpow(&(&order >> 1), q) == q - 1u32).expect("a root");
    let scale = inverse(&(&unit << layers));
    let second = &scale * inverse(&start.modpow(&(&order >> 2), q)) % q;
    // the tests do not depend on the product factor F, so the entries for products use F = 1
    let header: [&BigUint; HEADER] = [&unit, &scale, &second, &unit, &scale, &second, &unit, &unit];
    Roots {
        start: word(&start),
        start_inverse: word(&inverse(&start)),
        step: word(&(&start * &start % q)),
        header: header.map(word),
    }
}
