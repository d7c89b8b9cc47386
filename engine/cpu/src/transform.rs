//! The transform of one row of words, for kernels that say what they mean.

use bytemuck::{Zeroable, cast_slice, cast_slice_mut};

use crate::base::{BLOCK, LANES, restored_products};
use crate::field::{Field, word};
use crate::fill::factors;
use crate::inverses;
use crate::layout::{Layout, header_of};
use crate::shape::{Layer, Shape};
use crate::tree::{Origin, Tree};
use crate::{Limbs, Modulus, Roots};

/// One row of n words modulo one q, where they lie. Words are canonical, and as wide as the arithmetic's registers: 4, 8 or
/// 32 bytes. Values are in tree order.
pub trait Transform: Send + Sync {
    /// Bytes of a word.
    fn word_bytes(&self) -> usize;

    /// From coefficients to values.
    fn forward(&self, row: &mut [u8]);

    /// From values to coefficients.
    fn inverse(&self, row: &mut [u8]);

    /// Multiplies values by values.
    fn multiply(&self, a: &mut [u8], b: &[u8]);

    /// Replaces values by those of the inverse element, and says whether there is one: if not, they become useless. Only
    /// where the shape [can be inverted](Shape::can_be_inverted).
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

/// What a tree borrows.
struct Row<F: Field> {
    field: F,
    q: Limbs,
    /// 1 as residues are stored.
    unit: F::Word,
    /// Whether reduced products lack a factor.
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

    fn invert(&self, row: &mut [u8]) -> bool {
        inverses::invert(&self.tree(), &self.q, self.unit, cast_slice_mut(row))
    }
}
