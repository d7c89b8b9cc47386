//! Modulus type for q = 2^64 − 2^32 + 1 (Goldilocks).
//!
//! Modulo q, 2^64 = 2^32 − 1 and 2^96 = −1, so a product is reduced by additions alone. Montgomery reduction, which
//! leaves a factor 2^-64, takes fewer additions. Powers of two are roots of unity: 2 has order 192.

use core::iter::successors;

use crypto_bigint::U256;

use super::descriptor::{Cost, Descriptor, Given, Groups, Serves, Value, Word, none};
use ringforge_math::modulus::{Modulus, Width};

const Q: u64 = 0xffff_ffff_0000_0001;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Goldilocks",
    header: "goldilocks.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |poly| poly.width() == Width::W64 && poly.moduli().iter().all(|q| q.value_u64() == Some(Q)),
        on_cpu: |_| ringforge_cpu::GOLDILOCKS,
    },
    word: Word::U64,
    twiddle_bytes: 8,
    bytes: 8,
    fields: |_| vec![Value::U64(Q)],
    given: Given::TextOfOne,
    lazy: None,
    leaves_lazy: false,
    product_bits: 0,
    is_montgomery: false,
    groups: Some(Groups { layers: 4, exponent }),
    cost: Cost { product: 8.0, term: 10.0, reduction: 0.0 },
};

/// The multiplicative order of 2 modulo q.
const ORDER: u32 = 192;

fn exponent(q: &Modulus, root: &U256) -> u32 {
    let powers = successors(Some(q.reduce(&U256::ONE)), |power| Some(q.add(power, power)));
    powers.zip(0..ORDER).find(|(power, _)| power == root).map_or(0, |(_, e)| e)
}
