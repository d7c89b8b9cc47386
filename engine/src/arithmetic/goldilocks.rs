//! q = 2^64 − 2^32 + 1 by its form: 2^64 = 2^32 − 1 and 2^96 = −1 modulo q, so a product reduces by sums alone, and a
//! product that may lack 2^64 by fewer of them.


use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none};

const Q: u64 = 0xffff_ffff_0000_0001;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Goldilocks",
    header: "goldilocks.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |ring| ring.moduli().iter().all(|q| q.value_u64() == Some(Q)),
        on_cpu: |_| ringforge_cpu::GOLDILOCKS,
    },
    word: Word::U64,
    twiddle_bytes: 8,
    bytes: 8,
    fields: |_| vec![Value::U64(Q)],
    given: Given::TextOfOne,
    lazy: None,
    hands_on: false,
    product_bits: 0,
    is_montgomery: false,
    cost: Cost { product: 8.0, term: 10.0, reduction: 0.0 },
};
