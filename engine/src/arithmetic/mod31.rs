//! Modulus type for odd q below 2^31 in 32-bit words: Shoup and Montgomery. A word has room for lazy residues below 2q
//! only.


use super::descriptor::{Descriptor, Given, Serves, Word, none, up_to_in};
use super::mod32::{self, montgomery_fields};
use ringforge_math::modulus::Width;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod31",
    header: "mod31.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |poly| up_to_in(Width::W32, poly, 31),
        on_cpu: |_| ringforge_cpu::MOD31,
    },
    word: Word::U32,
    twiddle_bytes: 8,
    bytes: 16,
    fields: montgomery_fields,
    given: Given::TextOfOne,
    lazy: Some((32, 2)),
    leaves_lazy: true,
    product_bits: 32,
    is_montgomery: false,
    groups: None,
    cost: mod32::DESCRIPTOR.cost,
};
