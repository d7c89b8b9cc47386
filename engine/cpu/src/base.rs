//! Products in the NTT domain on the CPU. Each leaf of the factorisation is multiplied separately, as a polynomial
//! modulo x^d − β with d up to 8.

use bytemuck::Zeroable;

use crate::field::{Field, Store};
use crate::shape::MAX_LEAF_DEGREE;
use crate::simd::wide;
use crate::threads::{self, TASK_BYTES};
use crate::tree::Tree;

/// Number of leaves that are multiplied together, one per lane of a loop that the compiler vectorises.
pub(crate) const LANES: usize = 64;

/// The most products that [`Field::wide_reduce`] takes in a sum.
const MOST_PRODUCTS: usize = 8;

/// Maximum number of words in a block of [`LANES`] leaves.
pub(crate) const BLOCK: usize = MAX_LEAF_DEGREE * LANES;

/// Multiplies two residue polynomials in the NTT domain, leaf by leaf (d words each). For each word of the product,
/// calls `put` with the element of `out` at the same index. `betas` holds the constant β of each leaf x^d − β, in the
/// order of the leaves; it is not used if d is 1. Large inputs are split over several threads.
///
/// in: words below q   out: a·b / F, below 2q, where F is the constant by which the arithmetic's reduction divides
/// products
pub(crate) fn products<F: Field, A: Store<F::Word>, O: Send>(
    tree: &Tree<'_, F>,
    betas: &[F::Twiddle],
    [a, b]: [&[A]; 2],
    out: &mut [O],
    put: &(impl Fn(&mut O, F::Word) + Sync),
) {
    let d = tree.shape.base;
    if size_of_val(out) > TASK_BYTES {
        let middle = out.len() / d / 2;
        let ((a, c), (b, d)) = (a.split_at(middle * d), b.split_at(middle * d));
        let (betas, later) = betas.split_at(middle.min(betas.len()));
        let (left, right) = out.split_at_mut(a.len());
        threads::join(|| products(tree, betas, [a, b], left, put), || products(tree, later, [c, d], right, put));
        return;
    }
    let field = tree.field;
    if d == 1 {
        return wide(
            #[inline(always)]
            || {
                for ((a, b), out) in a.iter().zip(b).zip(out) {
                    put(out, field.wide_reduce(field.wide_mad(field.wide_zero(), a.load(), b.load())));
                }
            },
        );
    }
    // zeroed once, then reused for all blocks
    let mut lanes = [[[F::Word::zeroed(); LANES]; MAX_LEAF_DEGREE]; 2];
    let mut products = [F::Word::zeroed(); BLOCK];
    let blocks = a.chunks(d * LANES).zip(b.chunks(d * LANES)).zip(out.chunks_mut(d * LANES));
    for (((a, b), out), betas) in blocks.zip(betas.chunks(LANES)) {
        let products = &mut products[..out.len()];
        multiply(&field, [a, b], &mut lanes, betas, products);
        wide(
            #[inline(always)]
            || out.iter_mut().zip(products).for_each(|(out, product)| put(out, *product)),
        );
    }
}

/// Calls [`products`]. With `restore`, also multiplies each word of the product by F, the constant by which the
/// reduction divides products.
///
/// in: words below q   out: with `restore`, a·b; without it, a·b / F; both below 2q
pub(crate) fn restored_products<F: Field, A: Store<F::Word>, O: Send>(
    tree: &Tree<'_, F>,
    restore: bool,
    betas: &[F::Twiddle],
    operands: [&[A]; 2],
    out: &mut [O],
    put: &(impl Fn(&mut O, F::Word) + Sync),
) {
    let factor = tree.product_factor();
    match restore {
        false => products(tree, betas, operands, out, put),
        true => products(tree, betas, operands, out, &|out, product| put(out, tree.field.mul(product, factor))),
    }
}

/// Writes the inner product of two vectors in the NTT domain. The polynomials of a vector are contiguous.
///
/// in: words below q   out: the inner product / F, below q, with F as in [`products`]
pub(crate) fn inner_product<F: Field>(tree: &Tree<'_, F>, a: &[F::Word], b: &[F::Word], out: &mut [F::Word]) {
    let (field, n) = (tree.field, out.len());
    out.fill(F::Word::zeroed());
    if tree.shape.base > 1 {
        for operands in a.chunks_exact(n).zip(b.chunks_exact(n)) {
            products(tree, tree.leaf_constants(), operands.into(), out, &|sum, x| {
                *sum = field.canonical(field.relax(field.add(*sum, x)));
            });
        }
        return;
    }
    wide(
        #[inline(always)]
        || {
            for (a, b) in a.chunks(MOST_PRODUCTS * n).zip(b.chunks(MOST_PRODUCTS * n)) {
                // four vectors of four sums: with 64 sums, as in `products`, they would be in memory
                let (blocks, rest) = out.as_chunks_mut::<16>();
                let first = blocks.as_flattened().len();
                for (block, out) in blocks.iter_mut().enumerate() {
                    add_products(&field, [a, b], n, 16 * block, out);
                }
                for (place, out) in rest.as_chunks_mut::<1>().0.iter_mut().enumerate() {
                    add_products(&field, [a, b], n, first + place, out);
                }
            }
        },
    );
}

/// Adds to `L` words of `out`, from index `start` on, the products of these words of at most [`MOST_PRODUCTS`] pairs of
/// polynomials with n words. The sums stay in registers.
#[inline(always)]
fn add_products<F: Field, const L: usize>(
    field: &F,
    [a, b]: [&[F::Word]; 2],
    n: usize,
    start: usize,
    out: &mut [F::Word; L],
) {
    let mut sums = [field.wide_zero(); L];
    for (a, b) in a.chunks_exact(n).zip(b.chunks_exact(n)) {
        for ((sum, a), b) in sums.iter_mut().zip(&a[start..][..L]).zip(&b[start..][..L]) {
            *sum = field.wide_mad(*sum, *a, *b);
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = field.canonical(field.relax(field.add(*out, field.wide_reduce(sum))));
    }
}

/// The words of two operands: for each operand and each position in a leaf, one word per lane (leaf).
type Lanes<F> = [[[<F as Field>::Word; LANES]; MAX_LEAF_DEGREE]; 2];

/// Multiplies at most [`LANES`] leaves x^d − β, whose constants β are `betas`. Not inlined, so that there is one
/// instance per arithmetic and storage type instead of one per caller.
///
/// in: words below q   out: a·b / F, below 2q, with F as in [`products`]
#[inline(never)]
fn multiply<F: Field, A: Store<F::Word>>(
    field: &F,
    operands: [&[A]; 2],
    lanes: &mut Lanes<F>,
    betas: &[F::Twiddle],
    out: &mut [F::Word],
) {
    wide(
        #[inline(always)]
        || match out.len() / betas.len() {
            2 => leaves(field, 2, operands, lanes, betas, out),
            3 => leaves(field, 3, operands, lanes, betas, out),
            4 => leaves(field, 4, operands, lanes, betas, out),
            d => leaves(field, d, operands, lanes, betas, out),
        },
    );
}

/// Schoolbook multiplication modulo x^d − β in each lane. The caller passes the most common d as constants, so that the
/// compiler specialises the loops.
#[inline(always)]
fn leaves<F: Field, A: Store<F::Word>>(
    field: &F,
    d: usize,
    operands: [&[A]; 2],
    lanes: &mut Lanes<F>,
    betas: &[F::Twiddle],
    out: &mut [F::Word],
) {
    for (rows, words) in lanes.iter_mut().zip(operands) {
        for (lane, leaf) in words.chunks_exact(d).enumerate() {
            rows.iter_mut().zip(leaf).for_each(|(row, x)| row[lane] = x.load());
        }
    }
    let [a, b] = lanes;
    for k in 0..d {
        let (mut low, mut high) = ([field.wide_zero(); LANES], [field.wide_zero(); LANES]);
        for j in 0..d {
            let (sums, other) = if j <= k { (&mut low, k - j) } else { (&mut high, d + k - j) };
            for ((sum, a), b) in sums[..betas.len()].iter_mut().zip(&a[j]).zip(&b[other]) {
                *sum = field.wide_mad(*sum, *a, *b);
            }
        }
        for (((leaf, low), high), beta) in out.chunks_exact_mut(d).zip(&low).zip(&high).zip(betas) {
            let wrapped = field.mul(field.wide_reduce(*high), beta);
            leaf[k] = field.relax(field.add(field.wide_reduce(*low), wrapped));
        }
    }
}
