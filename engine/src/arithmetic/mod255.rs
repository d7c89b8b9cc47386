//! Modulus type for odd q below 2^255 − 2^230 on eight 32-bit limbs: Shoup multiplication.

use crypto_bigint::U256;

use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word};
use super::{digits, mod256};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod255",
    header: "mod255.cuh",
    template: |q| Some(digits::pattern(q)),
    serves: Serves::Binary {
        is_faster: |poly, limits| {
            let [q] = poly.moduli() else { return None };
            let table = 2 * poly.degree() as u64 * TWIDDLE_BYTES as u64;
            let serves = q.bits() > 64 && table <= limits.memory_bytes / 4 && digits::in_range(q);
            serves.then(|| !limits.is_cpu())
        },
        // encodes w and its Shoup quotient floor(2^256 w / q), which is -(2^256 w mod q) q^-1 mod 2^256
        factor: |q, w| {
            let quotient = U256::ZERO.wrapping_sub(&q.to_montgomery(w).wrapping_mul(&q.inverse_mod_word()));
            [w, &quotient].map(|limbs| limbs.to_le_bytes().as_ref().to_vec()).concat()
        },
    },
    word: Word::U256,
    twiddle_bytes: TWIDDLE_BYTES,
    bytes: 196,
    fields: |q| {
        let digits = digits::of(q).map(|digit| digit.unwrap_or(0));
        let negated_inverse = U256::ZERO.wrapping_sub(&q.inverse_mod_word());
        let rest = [q.value().wrapping_shl_vartime(1), negated_inverse].map(|field| Value::limbs(&field));
        let base = Value::Struct((mod256::DESCRIPTOR.fields)(q));
        [base, Value::Limbs(digits)].into_iter().chain(rest).collect()
    },
    given: Given::Text,
    lazy: None,
    leaves_lazy: false,
    product_bits: 256,
    is_montgomery: true,
    groups: None,
    // `product` is the cost for a modulus of which two digits are 1, -1 or 0 and take no multiplier slots
    cost: Cost { product: 186.0, ..mod256::DESCRIPTOR.cost },
};

const TWIDDLE_BYTES: usize = 64;
