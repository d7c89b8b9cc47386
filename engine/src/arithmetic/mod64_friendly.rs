//! Modulus type for primes q = 1 mod 2^32 below 2^61: multiplying q by a 64-bit word takes only half of the partial
//! products.

use super::descriptor::{Cost, Descriptor, Serves, Value, up_to};
use super::mod64;
use ringforge_math::modulus::{Modulus, Width, low_u64};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod64Friendly",
    header: "mod64_friendly.cuh",
    serves: Serves::Binary {
        is_faster: |poly, _| {
            (poly.width() == Width::W64 && up_to(poly, 61) && poly.basis().iter().all(is_friendly)).then_some(true)
        },
        // encodes the Shoup factor of v = q - w (v = 0 if w = 0): -v mod 2^64 and ceil(2^64 v / q)
        factor: |q, w| {
            let (q, w) = (low_u64(&q.value()), low_u64(w));
            let v = if w == 0 { 0 } else { q - w };
            let quotient = (u128::from(v) << 64).div_ceil(u128::from(q)) as u64;
            [v.wrapping_neg(), quotient].map(u64::to_le_bytes).concat()
        },
    },
    fields: |q| vec![Value::Struct(mod64::montgomery_fields(q))],
    groups: None,
    cost: Cost { product: 11.5, ..mod64::DESCRIPTOR.cost },
    ..mod64::DESCRIPTOR
};

/// Whether q is 1 modulo 2^32 and above 2^32.
pub(super) fn is_friendly(q: &Modulus) -> bool {
    q.value_u64().is_some_and(|q| q >> 32 != 0 && q as u32 == 1)
}
