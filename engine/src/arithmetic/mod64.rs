//! Modulus type for odd q below 2^62 in 64-bit words: Shoup and Montgomery.


use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, power_of_two, ratio, up_to_in};
use ringforge_math::modulus::{Modulus, Width, low_u64};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod64",
    header: "mod64.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |poly| up_to_in(Width::W64, poly, 62),
        on_cpu: |poly| match poly.width() {
            Width::W32 => ringforge_cpu::MOD64_IN_32,
            _ => ringforge_cpu::MOD64,
        },
    },
    word: Word::U64,
    twiddle_bytes: 16,
    bytes: 32,
    fields: montgomery_fields,
    given: Given::Launch,
    lazy: Some((64, 64)),
    leaves_lazy: true,
    product_bits: 64,
    is_montgomery: false,
    groups: None,
    cost: Cost { product: 15.0, term: 8.0, reduction: 11.0 },
};

/// The fields of the C++ struct: q, the Barrett ratio and shift, q^-1 mod 2^64 and 2^128 mod q.
pub(super) fn montgomery_fields(q: &Modulus) -> Vec<Value> {
    // Barrett: the quotient of x by q is about ratio · ⌊2^shift x / 2^32⌋ / 2^57
    let shift = 58u32.saturating_sub(q.bits());
    let ratio = low_u64(&ratio(q, 89 - shift)) as u32;
    let [inverse, square] = [q.inverse_mod_word(), power_of_two(q, 128)].map(|field| Value::U64(low_u64(&field)));
    vec![Value::U64(low_u64(&q.value())), Value::U32(ratio), Value::U32(shift), inverse, square]
}
