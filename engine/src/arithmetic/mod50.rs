//! Modulus type for odd q below 2^50 in doubles, for GPUs that multiply doubles at full rate.

use super::descriptor::{Cost, Descriptor, Given, Serves, Value, Word, none, up_to};
use ringforge_math::modulus::{Width, low_u64};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "Mod50",
    header: "mod50.cuh",
    template: none,
    serves: Serves::Binary {
        is_faster: |poly, limits| {
            let small = poly.width() == Width::W64 && up_to(poly, 50) && !poly.accepts_any_word();
            small.then(|| limits.has_fast_doubles())
        },
        // encodes w as its representative in (-q/2, q/2), and w / q rounded to a double
        factor: |q, w| {
            let (q, w) = (low_u64(&q.value()), low_u64(w));
            let w = if w > q / 2 { w as f64 - q as f64 } else { w as f64 };
            [w, w / q as f64].map(f64::to_le_bytes).concat()
        },
    },
    word: Word::Double,
    twiddle_bytes: 16,
    bytes: 16,
    fields: |q| {
        let value = low_u64(&q.value()) as f64;
        vec![Value::Double(value), Value::Double(value.recip())]
    },
    given: Given::Launch,
    // products of doubles up to 2^52 are exact; the capacity floor((2^52 - 1) / q) equals floor(2^52 / q), because q is
    // odd
    lazy: Some((52, 1 << 31)),
    leaves_lazy: false,
    product_bits: 0,
    is_montgomery: false,
    groups: None,
    cost: Cost { product: 5.6, term: 5.6, reduction: 0.0 },
};
