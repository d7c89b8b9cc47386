//! Modulus type for any q below 2^16 in 32-bit words: Shoup multiplication and Barrett reduction.


use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, ratio, up_to};
use ringforge_math::modulus::{Width, low_u64};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod16",
    header: "mod16.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |poly| poly.width() == Width::W16,
        on_cpu: |poly| if up_to(poly, 14) { ringforge_cpu::MOD14 } else { ringforge_cpu::MOD16 },
    },
    word: Word::U32,
    twiddle_bytes: 8,
    bytes: 8,
    fields: |q| vec![Value::U32(low_u64(&q.value()) as u32), Value::U32(low_u64(&ratio(q, 32)) as u32)],
    given: Given::TextOfOne,
    lazy: Some((32, 1 << 31)),
    leaves_lazy: false,
    product_bits: 0,
    is_montgomery: false,
    groups: None,
    cost: Cost { product: 4.0, term: 2.0, reduction: 3.0 },
};
