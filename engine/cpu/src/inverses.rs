//! Inverses in the NTT domain: inverts every leaf, a polynomial modulo x^d − β, by norms that halve its degree.
//!
//! The arithmetic multiplies two stored residues to a·b/F, where F is the constant by which its reduction divides. With
//! this product, the residues still form a field, with unit element F, and the inverse of x is F²/x. Two
//! multiplications by the residue 1 remove F² at the end. (If residues are stored as x·R, a product of words is
//! a·b/(F·R), and the word F·R represents F.)

use bytemuck::Zeroable;

use crate::Limbs;
use crate::field::Field;
use crate::shape::MAX_LEAF_DEGREE;
use crate::simd::wide;
use crate::tree::Tree;
use crate::wipe::Wiped;

/// Coefficients of a polynomial with half the largest leaf degree.
type Half<F> = [<F as Field>::Word; MAX_LEAF_DEGREE / 2];

/// Inverts every leaf of a residue polynomial in place. Returns true if all leaves are invertible; otherwise sets all
/// words to zero and returns false.
///
/// `one` is the residue 1 in the ring's stored form. in, out: below q
pub(crate) fn invert<F: Field>(tree: &Tree<'_, F>, q: &Limbs, one: F::Word, row: &mut [F::Word]) -> bool {
    wide(
        #[inline(always)]
        || {
            let field = tree.field;
            let leaves = tree.shape.leaves();
            let mut memory = Wiped::zeros(3 * leaves);
            let (norms, products) = memory.split_at_mut(leaves);
            match tree.leaf_constants() {
                [] => {
                    norms.copy_from_slice(row);
                    row.fill(field.canonical(field.mul(one, tree.product_factor())));
                }
                constants => {
                    let leaves = row.chunks_exact_mut(tree.shape.base).zip(constants);
                    leaves.zip(&mut *norms).for_each(|((leaf, beta), norm)| *norm = complement(&field, leaf, beta));
                }
            }
            let exist = invert_all(&field, one, q, norms, products);
            for (leaf, norm) in row.chunks_exact_mut(tree.shape.base).zip(norms) {
                leaf.iter_mut().for_each(|x| *x = mul(&field, *x, *norm));
            }
            exist
        },
    )
}

/// Replaces each word x by 1/x and returns true if all words are nonzero; otherwise sets all words to zero and returns
/// false. Uses Montgomery's trick as a product tree, so that only the product of all words is inverted.
///
/// `memory` must be at least twice as long as `words`. in, out: below q
fn invert_all<F: Field>(field: &F, one: F::Word, q: &Limbs, words: &mut [F::Word], memory: &mut [F::Word]) -> bool {
    if let [x] = words {
        let exists = bytemuck::bytes_of(x).iter().fold(0, |any, byte| any | byte) != 0;
        let inverse = power(field, *x, q);
        *x = mul(field, mul(field, inverse, one), one);
        return exists;
    }
    let (low, high) = words.split_at_mut(words.len().div_ceil(2));
    let (products, memory) = memory.split_at_mut(low.len());
    products.copy_from_slice(low);
    products.iter_mut().zip(&*high).for_each(|(x, high)| *x = mul(field, *x, *high));
    let exist = invert_all(field, one, q, products, memory);
    for ((low, high), inverse) in low.iter_mut().zip(&mut *high).zip(&*products) {
        (*low, *high) = (mul(field, *inverse, *high), mul(field, *inverse, *low));
    }
    // an odd number of words leaves the middle one unpaired
    low[high.len()..].copy_from_slice(&products[high.len()..]);
    exist
}

/// Replaces a leaf a by a polynomial a* for which a·a* is a constant, the norm of a. Returns this constant.
///
/// For even degrees, let y = x² and a = A(y) + x·B(y). The polynomial N = A² − y·B² has half the degree, and
/// a* = (A − x·B)·N*, where N* is computed from N in the same way. Degree 3 has explicit formulas.
///
/// in, out: below q
fn complement<F: Field>(field: &F, leaf: &mut [F::Word], beta: &F::Twiddle) -> F::Word {
    let wrap = |x| field.mul(x, beta);
    match *leaf {
        [a, b] => {
            leaf[1] = sub(field, F::Word::zeroed(), b);
            sub(field, mul(field, a, a), wrap(mul(field, b, b)))
        }
        [a, b, c] => {
            leaf[0] = sub(field, mul(field, a, a), wrap(mul(field, b, c)));
            leaf[1] = sub(field, wrap(mul(field, c, c)), mul(field, a, b));
            leaf[2] = sub(field, mul(field, b, b), mul(field, a, c));
            let high = wrap(sum_of_products(field, [(c, leaf[1]), (b, leaf[2])]));
            field.canonical(field.add(mul(field, a, leaf[0]), high))
        }
        _ => {
            let half = leaf.len() / 2;
            let mut parts: [Half<F>; 2] = [[F::Word::zeroed(); _]; 2];
            for (i, x) in leaf.iter().enumerate() {
                parts[i % 2][i / 2] = *x;
            }
            let [even, odd] = parts.each_ref().map(|part| &part[..half]);
            let (mut norm, squares) = (product::<F>(field, even, even, beta), product::<F>(field, odd, odd, beta));
            norm[0] = sub(field, norm[0], wrap(squares[half - 1]));
            for i in 1..half {
                norm[i] = sub(field, norm[i], squares[i - 1]);
            }
            let constant = complement(field, &mut norm[..half], beta);
            let (even, odd) = (product(field, even, &norm[..half], beta), product(field, odd, &norm[..half], beta));
            for (i, pair) in leaf.chunks_exact_mut(2).enumerate() {
                pair.copy_from_slice(&[even[i], sub(field, F::Word::zeroed(), odd[i])]);
            }
            constant
        }
    }
}

/// Returns a·b/F modulo y^k − β, for a and b of k words. F is the constant by which the reduction divides products.
/// in, out: below q
fn product<F: Field>(field: &F, a: &[F::Word], b: &[F::Word], beta: &F::Twiddle) -> Half<F> {
    let k = a.len();
    let mut product = [F::Word::zeroed(); _];
    for (i, out) in product[..k].iter_mut().enumerate() {
        let low = sum_of_products(field, (0..=i).map(|j| (a[j], b[i - j])));
        let high = sum_of_products(field, (i + 1..k).map(|j| (a[j], b[k + i - j])));
        *out = field.canonical(field.add(low, field.mul(high, beta)));
    }
    product
}

/// Returns the sum of a·b/F over at most eight pairs (a, b). F is the constant by which the reduction divides products.
/// in: below q   out: below 2q
#[inline(always)]
fn sum_of_products<F: Field>(field: &F, pairs: impl IntoIterator<Item = (F::Word, F::Word)>) -> F::Word {
    let sum = pairs.into_iter().fold(field.wide_zero(), |sum, (a, b)| field.wide_mad(sum, a, b));
    field.wide_reduce(sum)
}

/// Returns a·b/F, where F is the constant by which the reduction divides products. in, out: below q
#[inline(always)]
fn mul<F: Field>(field: &F, a: F::Word, b: F::Word) -> F::Word {
    field.canonical(sum_of_products(field, [(a, b)]))
}

/// Returns a − b. in: below 2q   out: below q
#[inline(always)]
fn sub<F: Field>(field: &F, a: F::Word, b: F::Word) -> F::Word {
    field.canonical(field.sub(a, b))
}

/// Returns the power x^(q − 2) under the product [`mul`], by square-and-multiply. By Fermat's little theorem, this is
/// F²/x, the inverse of x in the field with this product. in, out: below q
fn power<F: Field>(field: &F, x: F::Word, q: &Limbs) -> F::Word {
    let mut less = 2;
    let e = q.map(|limb| {
        let (limb, borrow) = limb.overflowing_sub(less);
        less = u64::from(borrow);
        limb
    });
    let bits = (0..256).rev().map(|bit| e[bit / 64] >> (bit % 64) & 1 == 1);
    bits.skip_while(|bit| !bit).skip(1).fold(x, |power, bit| {
        let square = mul(field, power, power);
        if bit { mul(field, square, x) } else { square }
    })
}
