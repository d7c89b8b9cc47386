//! Modulus type for odd q below 2^30 in 32-bit words: Shoup and Montgomery.


use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, power_of_two, ratio, up_to_in};
use ringforge_math::modulus::{Modulus, Width, low_u64};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod32",
    header: "mod32.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |poly| up_to_in(Width::W32, poly, 30),
        on_cpu: |_| ringforge_cpu::MOD32,
    },
    word: Word::U32,
    twiddle_bytes: 8,
    bytes: 16,
    fields: montgomery_fields,
    given: Given::TextOfOne,
    lazy: Some((32, 1 << 31)),
    leaves_lazy: true,
    product_bits: 32,
    is_montgomery: false,
    groups: None,
    cost: Cost { product: 4.0, term: 2.0, reduction: 3.0 },
};

/// The fields of the C++ struct: q, floor(2^32 / q), q^-1 mod 2^32 and 2^64 mod q.
pub(super) fn montgomery_fields(q: &Modulus) -> Vec<Value> {
    let fields = [q.value(), ratio(q, 32), q.inverse_mod_word(), power_of_two(q, 64)];
    fields.iter().map(|field| Value::U32(low_u64(field) as u32)).collect()
}
