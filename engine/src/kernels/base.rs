//! Products of leaves on the CPU: polynomials modulo x^d − β, d up to 8.

use crate::field::{Field, Store};
use crate::kernels::tree::{TASK_BYTES, Tree};
use crate::planner::split::MAX_BASE;
use crate::simd::wide;

/// Multiplies every leaf of a row, d words each, and hands each word of the product to `put` with its place in `out`.
///
/// `leaf_at` gives a leaf's number in tree order for its place among the values.
///
/// in: canonical words   out: a b / F, relaxed
pub(crate) fn products<F: Field, A: Store<F::Word>, O: Send>(
    tree: &Tree<'_, F>,
    leaf_at: &(impl Fn(usize) -> usize + Sync),
    operands: [&[A]; 2],
    out: &mut [O],
    put: &(impl Fn(&mut O, F::Word) + Sync),
) {
    from_leaf(tree, 0, leaf_at, operands, out, put);
}

/// The same for the leaves from `first`, cut into pieces for several threads where that is worth it.
fn from_leaf<F: Field, A: Store<F::Word>, O: Send>(
    tree: &Tree<'_, F>,
    first: usize,
    leaf_at: &(impl Fn(usize) -> usize + Sync),
    [a, b]: [&[A]; 2],
    out: &mut [O],
    put: &(impl Fn(&mut O, F::Word) + Sync),
) {
    let d = tree.split.base;
    if size_of_val(out) > TASK_BYTES {
        let middle = out.len() / d / 2;
        let ((a, c), (b, d)) = (a.split_at(middle * d), b.split_at(middle * d));
        let (left, right) = out.split_at_mut(a.len());
        rayon::join(
            || from_leaf(tree, first, leaf_at, [a, b], left, put),
            || from_leaf(tree, first + middle, leaf_at, [c, d], right, put),
        );
        return;
    }
    let leaf_at = |leaf| leaf_at(first + leaf);
    let operands = [a, b];
    wide(
        #[inline(always)]
        || match d {
            1 => linear(&tree.field, operands, out, put),
            2 => leaves::<F, A, O, 2>(tree, leaf_at, operands, out, put),
            3 => leaves::<F, A, O, 3>(tree, leaf_at, operands, out, put),
            4 => leaves::<F, A, O, 4>(tree, leaf_at, operands, out, put),
            5 => leaves::<F, A, O, 5>(tree, leaf_at, operands, out, put),
            6 => leaves::<F, A, O, 6>(tree, leaf_at, operands, out, put),
            7 => leaves::<F, A, O, 7>(tree, leaf_at, operands, out, put),
            _ => leaves::<F, A, O, MAX_BASE>(tree, leaf_at, operands, out, put),
        },
    );
}

#[inline(always)]
fn linear<F: Field, A: Store<F::Word>, O>(field: &F, [a, b]: [&[A]; 2], out: &mut [O], put: &impl Fn(&mut O, F::Word)) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        put(out, field.wide_reduce(field.wide_mad(field.wide_zero(), a.load(), b.load())));
    }
}

#[inline(always)]
fn leaves<F: Field, A: Store<F::Word>, O, const D: usize>(
    tree: &Tree<'_, F>,
    leaf_at: impl Fn(usize) -> usize,
    [a, b]: [&[A]; 2],
    out: &mut [O],
    put: &impl Fn(&mut O, F::Word),
) {
    let field = tree.field;
    let constants = tree.leaf_constants();
    let leaves = a.chunks_exact(D).zip(b.chunks_exact(D)).zip(out.chunks_exact_mut(D));
    for (i, ((a, b), out)) in leaves.enumerate() {
        let beta = &constants[leaf_at(i)];
        let a: [F::Word; D] = core::array::from_fn(|j| a[j].load());
        let b: [F::Word; D] = core::array::from_fn(|j| b[j].load());
        for (k, out) in out.iter_mut().enumerate() {
            let low = (0..=k).fold(field.wide_zero(), |acc, j| field.wide_mad(acc, a[j], b[k - j]));
            let high = (k + 1..D).fold(field.wide_zero(), |acc, j| field.wide_mad(acc, a[j], b[D + k - j]));
            let wrapped = field.mul(field.wide_reduce(high), beta);
            put(out, field.relax(field.add(field.wide_reduce(low), wrapped)));
        }
    }
}
