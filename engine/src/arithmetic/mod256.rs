//! Modulus type for odd q below 2^256 on eight 32-bit limbs: every value is in Montgomery form with R = 2^256.


use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, power_of_two};
use ringforge_math::modulus::{Modulus, limbs, low_u64};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod256",
    header: "mod256.cuh",
    template: none,
    serves: Serves::Rings {
        serves: |_| true,
        on_cpu: |poly| match poly.basis().iter().all(has_spare_bit) {
            true => ringforge_cpu::MOD256_SPARE,
            false => ringforge_cpu::MOD256,
        },
    },
    word: Word::U256,
    twiddle_bytes: 32,
    bytes: 100,
    fields: |q| {
        let negated_inverse = 0u32.wrapping_sub(low_u64(&q.inverse_mod_word()) as u32);
        let powers = [256, 512].map(|e| Value::limbs(&power_of_two(q, e)));
        [Value::limbs(&q.value()), Value::U32(negated_inverse)].into_iter().chain(powers).collect()
    },
    given: Given::Argument,
    lazy: None,
    leaves_lazy: false,
    product_bits: 256,
    is_montgomery: true,
    groups: None,
    cost: Cost { product: 2.0 * 132.0, term: 2.0 * 64.0, reduction: 2.0 * 68.0 },
};

/// Whether the top 64-bit limb of q is below 2^63 − 1, so that the carries of a product fit.
fn has_spare_bit(q: &Modulus) -> bool {
    limbs(&q.value())[3] < u64::MAX >> 1
}
