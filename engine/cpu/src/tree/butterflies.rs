//! Butterflies of one layer on a node, either on one word of each child or on slices. Forward butterflies are
//! Cooley–Tukey, inverse ones Gentleman–Sande. Ranges are lazy as in Harvey (arXiv:1205.2926). In strict arithmetics,
//! which reduce every result, all words are below q.

use crate::field::Field;

/// Cooley–Tukey butterfly of radix 2: returns a + z·b and a − z·b. in, out: below 4q
#[inline(always)]
pub(super) fn two<F: Field>(field: &F, a: F::Word, b: F::Word, z: &F::Twiddle) -> (F::Word, F::Word) {
    let (a, t) = (field.relax(a), field.mul(b, z));
    (field.add(a, t), field.sub(a, t))
}

/// Radix-2 Cooley–Tukey butterflies on the halves of a node with twiddle factor z. in, out: below 4q
#[inline(always)]
pub(super) fn forward_two<F: Field>(field: &F, lo: &mut [F::Word], hi: &mut [F::Word], z: &F::Twiddle) {
    for (a, b) in lo.iter_mut().zip(hi) {
        (*a, *b) = two(field, *a, *b, z);
    }
}

/// Radix-2 Cooley–Tukey butterflies on consecutive nodes of 2K words, with one twiddle factor per node. in, out: below
/// 4q
#[inline(always)]
pub(super) fn forward_twos<F: Field, const K: usize>(field: &F, words: &mut [F::Word], z: &[F::Twiddle]) {
    for (words, z) in words.chunks_exact_mut(2 * K).zip(z) {
        for i in 0..K {
            (words[i], words[i + K]) = two(field, words[i], words[i + K], z);
        }
    }
}

/// Forward butterflies of [`Layer::Sixth`](crate::Layer): a + z·b and a + (1 − z)·b. in, out: below 4q
#[inline(always)]
pub(super) fn forward_sixth<F: Field>(field: &F, lo: &mut [F::Word], hi: &mut [F::Word], z: &F::Twiddle) {
    for (a, b) in lo.iter_mut().zip(hi) {
        let (x, y, t) = (field.relax(*a), field.relax(*b), field.mul(*b, z));
        *a = field.add(x, t);
        *b = field.sub(field.relax(field.add(x, y)), t);
    }
}

/// Radix-3 Cooley–Tukey butterfly, where z holds the twiddle factors z and z². in, out: below 4q
#[inline(always)]
pub(super) fn three<F: Field>(
    field: &F,
    [a, b, c]: [F::Word; 3],
    z: [&F::Twiddle; 2],
    third_root: &F::Twiddle,
) -> [F::Word; 3] {
    let (a, t1, t2) = (field.relax(a), field.mul(b, z[0]), field.mul(c, z[1]));
    let t3 = field.mul(field.sub(t1, t2), third_root);
    [
        field.add(field.relax(field.add(a, t1)), t2),
        field.add(field.relax(field.sub(a, t2)), t3),
        field.sub(field.relax(field.sub(a, t1)), t3),
    ]
}

/// Radix-3 Cooley–Tukey butterflies on the thirds of a node, where z holds the twiddle factors z and z². in, out: below
/// 4q
#[inline(always)]
pub(super) fn forward_three<F: Field>(
    field: &F,
    parts: [&mut [F::Word]; 3],
    z: [&F::Twiddle; 2],
    third_root: &F::Twiddle,
) {
    let [a, b, c] = parts;
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        [*a, *b, *c] = three(field, [*a, *b, *c], z, third_root);
    }
}

/// Gentleman–Sande butterfly of radix 2: returns u + v and z·(u − v). in, out: below 2q
#[inline(always)]
pub(super) fn back_two<F: Field>(field: &F, u: F::Word, v: F::Word, z: &F::Twiddle) -> (F::Word, F::Word) {
    (field.relax(field.add(u, v)), field.mul(field.sub(u, v), z))
}

/// Radix-2 Gentleman–Sande butterflies on the halves of a node with twiddle factor z. in, out: below 2q
#[inline(always)]
pub(super) fn inverse_two<F: Field>(field: &F, lo: &mut [F::Word], hi: &mut [F::Word], z: &F::Twiddle) {
    for (u, v) in lo.iter_mut().zip(hi) {
        (*u, *v) = back_two(field, *u, *v, z);
    }
}

/// Radix-2 Gentleman–Sande butterflies on consecutive nodes of 2K words, with one twiddle factor per node.
/// in, out: below 2q
#[inline(always)]
pub(super) fn inverse_twos<F: Field, const K: usize>(field: &F, words: &mut [F::Word], z: &[F::Twiddle]) {
    for (words, z) in words.chunks_exact_mut(2 * K).zip(z) {
        for i in 0..K {
            (words[i], words[i + K]) = back_two(field, words[i], words[i + K], z);
        }
    }
}

/// Radix-3 inverse butterfly without the final multiplications by z^-1 and z^-2. in: below 2q   out: below 4q
#[inline(always)]
pub(super) fn inverse_three<F: Field>(field: &F, [u, v, y]: [F::Word; 3], third_root: &F::Twiddle) -> [F::Word; 3] {
    let t = field.mul(field.sub(y, v), third_root);
    [
        field.add(field.relax(field.add(u, v)), y),
        field.add(field.relax(field.sub(u, v)), t),
        field.sub(field.relax(field.sub(u, y)), t),
    ]
}

/// Radix-3 Gentleman–Sande butterfly, where z holds the twiddle factors z^-1 and z^-2. in, out: below 2q
#[inline(always)]
pub(super) fn back_three<F: Field>(
    field: &F,
    parts: [F::Word; 3],
    z: [&F::Twiddle; 2],
    third_root: &F::Twiddle,
) -> [F::Word; 3] {
    let [x, y, w] = inverse_three(field, parts, third_root);
    [field.relax(x), field.mul(y, z[0]), field.mul(w, z[1])]
}

/// Radix-3 Gentleman–Sande butterflies on the thirds of a node, where z holds z^-1 and z^-2. in, out: below 2q
#[inline(always)]
pub(super) fn inverse_threes<F: Field>(
    field: &F,
    parts: [&mut [F::Word]; 3],
    z: [&F::Twiddle; 2],
    third_root: &F::Twiddle,
) {
    let [a, b, c] = parts;
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        [*a, *b, *c] = back_three(field, [*a, *b, *c], z, third_root);
    }
}
