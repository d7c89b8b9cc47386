//! Modulus type for odd q below 2^64 in 64-bit words: Montgomery.


use super::descriptor::{Descriptor, Given, Serves, Word, none, up_to_in};
use super::mod64::{self, montgomery_fields};
use ringforge_math::modulus::Width;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod64Full",
    header: "mod64.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |poly| up_to_in(Width::W64, poly, 64),
        on_cpu: |_| ringforge_cpu::MOD64_FULL,
    },
    word: Word::U64,
    twiddle_bytes: 8,
    bytes: 32,
    fields: montgomery_fields,
    given: Given::Launch,
    lazy: None,
    leaves_lazy: false,
    product_bits: 64,
    is_montgomery: false,
    groups: None,
    cost: mod64::DESCRIPTOR.cost,
};
