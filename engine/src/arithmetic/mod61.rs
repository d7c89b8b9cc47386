//! Modulus type for odd q below 2^61 in 64-bit words, for transforms on GPUs. It differs from [`mod64`] in the Shoup
//! product: the approximate quotient takes three partial products, so products are below 3q.

use super::descriptor::{Cost, Descriptor, Serves, Value, up_to};
use super::mod64;
use ringforge_math::modulus::{Width, low_u64};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod61",
    header: "mod61.cuh",
    serves: Serves::Binary {
        is_faster: |poly, limits| {
            (!limits.is_cpu() && poly.width() == Width::W64 && up_to(poly, 61)).then_some(true)
        },
        factor: |q, w| {
            let (q, w) = (low_u64(&q.value()), low_u64(w));
            let quotient = ((u128::from(w) << 64) / u128::from(q)) as u64;
            [w, quotient].map(u64::to_le_bytes).concat()
        },
    },
    bytes: 40,
    fields: |q| {
        let triple = low_u64(&q.value()).wrapping_mul(3);
        vec![Value::Struct(mod64::montgomery_fields(q)), Value::U64(triple)]
    },
    groups: None,
    cost: Cost { product: 13.7, ..mod64::DESCRIPTOR.cost },
    ..mod64::DESCRIPTOR
};
