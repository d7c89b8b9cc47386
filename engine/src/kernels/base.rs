//! Products of leaves on the CPU: polynomials modulo x^d − β, d up to 8.

use bytemuck::Zeroable;

use crate::field::{Field, Store};
use crate::kernels::tree::{TASK_BYTES, Tree};
use crate::ring::split::MAX_BASE;
use crate::simd::wide;

/// Leaves that are worked on together, one in each lane of vectors.
pub(crate) const LANES: usize = 64;

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

/// The same with the product factor F restored, if there is one.
///
/// in: canonical words   out: a b, relaxed
pub(crate) fn restored_products<F: Field, A: Store<F::Word>, O: Send>(
    tree: &Tree<'_, F>,
    restore: bool,
    leaf_at: &(impl Fn(usize) -> usize + Sync),
    operands: [&[A]; 2],
    out: &mut [O],
    put: &(impl Fn(&mut O, F::Word) + Sync),
) {
    let factor = tree.product_factor();
    match restore {
        false => products(tree, leaf_at, operands, out, put),
        true => products(tree, leaf_at, operands, out, &|out, product| put(out, tree.field.mul(product, factor))),
    }
}

/// [`products`] for the leaves from `first`, cut into pieces for several threads where that is worth it.
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
    let mut operands = [[[F::Word::zeroed(); LANES]; D]; 2];
    let mut betas = [F::Twiddle::zeroed(); LANES];
    let blocks = a.chunks(D * LANES).zip(b.chunks(D * LANES)).zip(out.chunks_mut(D * LANES));
    for (block, ((a, b), out)) in blocks.enumerate() {
        let lanes = out.len() / D;
        for (rows, words) in operands.iter_mut().zip([a, b]) {
            for (lane, leaf) in words.chunks_exact(D).enumerate() {
                rows.iter_mut().zip(leaf).for_each(|(row, x)| row[lane] = x.load());
            }
        }
        let betas = &mut betas[..lanes];
        betas.iter_mut().enumerate().for_each(|(lane, beta)| *beta = constants[leaf_at(block * LANES + lane)]);
        let [a, b] = &operands;
        for k in 0..D {
            let (mut low, mut high) = ([field.wide_zero(); LANES], [field.wide_zero(); LANES]);
            for j in 0..D {
                let (sums, other) = if j <= k { (&mut low, k - j) } else { (&mut high, D + k - j) };
                for ((sum, a), b) in sums[..lanes].iter_mut().zip(&a[j]).zip(&b[other]) {
                    *sum = field.wide_mad(*sum, *a, *b);
                }
            }
            for (((leaf, low), high), beta) in out.chunks_exact_mut(D).zip(&low).zip(&high).zip(&*betas) {
                let wrapped = field.mul(field.wide_reduce(*high), beta);
                put(&mut leaf[k], field.relax(field.add(field.wide_reduce(*low), wrapped)));
            }
        }
    }
}
