//! The entries of a table before its sections.

use crypto_bigint::U256;

use super::{HEADER, Prime};
use crate::field::Field;
use crate::ring::split::{Layer, Split};

/// The entries before the sections, with this constant times the inverse transform.
pub(super) fn header<F: Field>(split: &Split, prime: &Prime, scale: &U256) -> [F::Twiddle; HEADER] {
    let Prime { q, start, start_inverse, step, scale: leaves, factor, half_sixth } = prime;
    let (field, scale) = (F::new(q), &q.mul(&q.reduce(scale), leaves));
    let t = split.tree_leaves();
    let one = q.reduce(&U256::ONE);
    let pow = |x: &U256, e: usize| q.pow(x, &U256::from(e as u64));
    let sigma = if split.layers.contains(&Layer::Three) { pow(step, t / 3) } else { one };
    let last_step = |scale: &U256| match split.layers.first() {
        None => [*scale, one, one],
        Some(Layer::Two) => [*scale, q.mul(scale, &pow(start_inverse, t / 2)), one],
        Some(Layer::Three) => {
            let z = pow(start_inverse, t / 3);
            let second = q.mul(scale, &z);
            [*scale, second, q.mul(&second, &z)]
        }
        Some(Layer::Sixth) => [*scale, q.mul(scale, half_sixth), pow(start, t)],
    };
    let ([a, b, c], [d, e, f]) = (last_step(scale), last_step(&q.mul(scale, factor)));
    [sigma, a, b, c, d, e, f, *factor].map(|x| field.twiddle(field.word(q, &x)))
}
