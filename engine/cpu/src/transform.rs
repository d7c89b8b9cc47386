//! The transform of one residue polynomial in the caller's memory, for the CPU references of kernels.

use bytemuck::{Zeroable, cast_slice, cast_slice_mut};

use crate::base::{BLOCK, LANES, inner_product, restored_products};
use crate::field::{Field, word};
use crate::fill::factors;
use crate::inverses;
use crate::layout::{Layout, header_of};
use crate::shape::{Layer, Shape};
use crate::simd::wide;
use crate::tree::{Origin, Tree};
use crate::wipe::Wiped;
use crate::{Limbs, Modulus, Roots};

/// An NTT modulo one q of a row (residue polynomial) of n words, in place. Words are below q and as wide as the
/// arithmetic's registers: 4, 8 or 32 bytes. Evaluations are in digit-reversed order.
pub trait Transform: Send + Sync {
    /// Returns the size of a word in bytes.
    fn word_bytes(&self) -> usize;

    /// Transforms coefficients to evaluations.
    fn forward(&self, row: &mut [u8]);

    /// Transforms evaluations to coefficients.
    fn inverse(&self, row: &mut [u8]);

    /// Multiplies `a` by `b` in the NTT domain; the product overwrites `a`.
    fn multiply(&self, a: &mut [u8], b: &[u8]);

    /// Multiplies a matrix of elements, in row-major order, by a vector of elements, in the NTT domain. The product
    /// overwrites `out`, which has an element for each row of the matrix.
    fn multiply_matrix(&self, matrix: &[u8], vector: &[u8], out: &mut [u8]);

    /// Replaces the evaluations of an element by those of its inverse and returns true. If there is no inverse, returns
    /// false, and the row's contents are meaningless. Only for shapes that [can be inverted](Shape::can_be_inverted).
    fn invert(&self, row: &mut [u8]) -> bool;
}

pub(crate) fn of<F: Field>(
    modulus: &Modulus,
    roots: &Roots,
    shape: Shape<'_>,
    unit: &Limbs,
    restore: bool,
) -> Box<dyn Transform> {
    let layout = Layout::of(shape, shape.layers.len());
    Box::new(Row::<F> {
        field: F::new(&modulus.q),
        q: modulus.q,
        unit: word(unit),
        restore,
        n: shape.n,
        base: shape.base,
        layers: shape.layers.to_vec(),
        table: factors::<F>(modulus, roots, shape, &layout),
        layout,
    })
}

/// Owns the data that a [`Tree`] borrows.
struct Row<F: Field> {
    field: F,
    q: Limbs,
    /// The residue 1 in stored form.
    unit: F::Word,
    /// True if reduced products must be multiplied by F, the constant by which the reduction divides them.
    restore: bool,
    n: usize,
    base: usize,
    layers: Vec<Layer>,
    layout: Layout,
    table: Vec<F::Twiddle>,
}

impl<F: Field> Row<F> {
    fn tree(&self) -> Tree<'_, F> {
        let Self { field, n, base, ref layers, ref layout, ref table, .. } = *self;
        let shape = Shape { n, base, layers };
        Tree { field, shape, layout, header: header_of(table), table: table.as_slice().into() }
    }
}

impl<F: Field> Transform for Row<F> {
    fn word_bytes(&self) -> usize {
        size_of::<F::Word>()
    }

    fn forward(&self, row: &mut [u8]) {
        self.tree().forward(cast_slice_mut(row));
    }

    fn inverse(&self, row: &mut [u8]) {
        self.tree().inverse(cast_slice_mut(row), Origin::Values);
    }

    fn multiply(&self, a: &mut [u8], b: &[u8]) {
        let (a, b) = (cast_slice_mut::<_, F::Word>(a), cast_slice::<_, F::Word>(b));
        let (tree, field) = (self.tree(), self.field);
        let leaves = BLOCK / self.base / LANES * LANES;
        let len = leaves * self.base;
        let constants = tree.leaf_constants();
        let mut left = [F::Word::zeroed(); BLOCK];
        for (i, (a, b)) in a.chunks_mut(len).zip(b.chunks(len)).enumerate() {
            let left = &mut left[..a.len()];
            left.copy_from_slice(a);
            let betas = &constants[constants.len().min(i * leaves)..];
            let betas = &betas[..betas.len().min(leaves)];
            restored_products(&tree, self.restore, betas, [left, b], a, &|out, product| {
                *out = field.canonical(product);
            });
        }
    }

    fn multiply_matrix(&self, matrix: &[u8], vector: &[u8], out: &mut [u8]) {
        let (tree, field, n) = (self.tree(), self.field, self.n);
        let mut vector = Wiped::from(cast_slice::<_, F::Word>(vector).to_vec());
        if self.restore {
            // one product for each word of the vector, in place of one for each of the result
            let factor = tree.product_factor();
            wide(
                #[inline(always)]
                || vector.iter_mut().for_each(|x| *x = field.canonical(field.mul(*x, factor))),
            );
        }
        let (matrix, out) = (cast_slice::<_, F::Word>(matrix), cast_slice_mut::<_, F::Word>(out));
        for (row, out) in matrix.chunks_exact(vector.len()).zip(out.chunks_exact_mut(n)) {
            inner_product(&tree, row, &vector, out);
        }
    }

    fn invert(&self, row: &mut [u8]) -> bool {
        inverses::invert(&self.tree(), &self.q, self.unit, cast_slice_mut(row))
    }
}
