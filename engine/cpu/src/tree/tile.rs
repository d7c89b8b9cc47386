//! The last layers of transforms that do not use explicit SIMD vectors. Nodes of these layers are too short for
//! vectorised loops, so they are computed in tiles: transposed blocks of nodes, with one node per lane.

use core::ops::Range;

use bytemuck::Zeroable;

use super::Tree;
use super::butterflies::{back_three, back_two, three, two};
use crate::field::Field;
use crate::shape::{Layer, Shape};

/// Number of nodes in a tile.
const LANES: usize = 32;

/// Maximum number of words of a node in a tile.
const ROWS: usize = 32;

/// One word of each node of a tile, all at the same position within their node.
type Row<F> = [<F as Field>::Word; LANES];

/// Returns true if the arithmetic uses tiles. Only arithmetics on 32-bit words do, because loops over wider words are
/// not vectorised.
pub(super) const fn are_for<F: Field>() -> bool {
    size_of::<F::Word>() == 4
}

/// Returns the index of the first layer that is computed in tiles, or the number of layers if no layer is.
pub(super) fn first_layer<F: Field>(shape: Shape<'_>) -> usize {
    let layers = shape.layers.len();
    let in_tiles = |&layer: &usize| {
        let nodes = shape.nodes(layer);
        are_for::<F>() && nodes >= LANES && shape.n / nodes <= ROWS
    };
    (1..layers).find(in_tiles).unwrap_or(layers)
}

impl<F: Field> Tree<'_, F> {
    /// Forward transform in tiles, from consecutive nodes above `layer` down to their leaves. `first` is the index of
    /// the first node.
    ///
    /// in: below 4q   out: below q
    #[inline(always)]
    pub(super) fn forward_tiles(&self, layer: usize, first: usize, words: &mut [F::Word]) {
        let size = self.shape.n / self.shape.nodes(layer);
        let mut rows = [[F::Word::zeroed(); LANES]; ROWS];
        for (tile, words) in words.chunks_mut(size * LANES).enumerate() {
            load::<F>(&mut rows[..size], words);
            for l in layer..self.shape.layers.len() {
                let start = self.layout.forward[l];
                let nodes = first + tile * LANES..first + tile * LANES + words.len() / size;
                self.tile_layer(l, start, nodes, &mut rows[..size], two, three);
            }
            store::<F>(&rows[..size], words, |x| self.field.canonical(x));
        }
    }

    /// Inverse transform in tiles, from leaves up to consecutive nodes above `layer`. `first` is the index of the first
    /// node. in, out: below 2q
    #[inline(always)]
    pub(super) fn inverse_tiles(&self, layer: usize, first: usize, words: &mut [F::Word]) {
        let size = self.shape.n / self.shape.nodes(layer);
        let mut rows = [[F::Word::zeroed(); LANES]; ROWS];
        for (tile, words) in words.chunks_mut(size * LANES).enumerate() {
            load::<F>(&mut rows[..size], words);
            for l in (layer..self.shape.layers.len()).rev() {
                let start = self.layout.inverse[l];
                let nodes = first + tile * LANES..first + tile * LANES + words.len() / size;
                self.tile_layer(l, start, nodes, &mut rows[..size], back_two, back_three);
            }
            store::<F>(&rows[..size], words, |x| x);
        }
    }

    /// Computes one layer of a tile. `nodes` are the indices of the nodes in the tile's lanes, and `start` is the
    /// position of the layer's twiddle factors in the table.
    #[inline(always)]
    fn tile_layer(
        &self,
        layer: usize,
        start: usize,
        nodes: Range<usize>,
        rows: &mut [Row<F>],
        two: impl Fn(&F, F::Word, F::Word, &F::Twiddle) -> (F::Word, F::Word),
        three: impl Fn(&F, [F::Word; 3], [&F::Twiddle; 2], &F::Twiddle) -> [F::Word; 3],
    ) {
        let (field, kind) = (self.field, self.shape.layers[layer]);
        let size = self.shape.n / self.shape.nodes(layer);
        let part = size / kind.radix();
        let stride = rows.len() / size * kind.factors();
        let table = &self.table[start..][nodes.start * stride..nodes.end * stride];
        let factors = |which: usize| {
            let mut factors = [F::Twiddle::zeroed(); LANES];
            factors.iter_mut().zip(table.chunks_exact(stride)).for_each(|(factor, table)| *factor = table[which]);
            factors
        };
        let lanes = nodes.len();
        for (node, rows) in rows.chunks_exact_mut(size).enumerate() {
            let (a, rest) = rows.split_at_mut(part);
            match kind {
                Layer::Two | Layer::Sixth => {
                    let z = factors(node);
                    for (a, b) in a.iter_mut().zip(rest) {
                        for ((a, b), z) in a[..lanes].iter_mut().zip(b).zip(&z) {
                            (*a, *b) = two(&field, *a, *b, z);
                        }
                    }
                }
                Layer::Three => {
                    let (z, squares) = (factors(2 * node), factors(2 * node + 1));
                    let (b, c) = rest.split_at_mut(part);
                    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                        let factors = z.iter().zip(&squares);
                        for (((a, b), c), (z, square)) in a[..lanes].iter_mut().zip(b).zip(c).zip(factors) {
                            [*a, *b, *c] = three(&field, [*a, *b, *c], [z, square], self.third_root());
                        }
                    }
                }
            }
        }
    }
}

/// Transposes nodes into the lanes of a tile.
#[inline(always)]
fn load<F: Field>(rows: &mut [Row<F>], words: &[F::Word]) {
    for (lane, node) in words.chunks_exact(rows.len()).enumerate() {
        rows.iter_mut().zip(node).for_each(|(row, x)| row[lane] = *x);
    }
}

/// Transposes the lanes of a tile back into nodes.
#[inline(always)]
fn store<F: Field>(rows: &[Row<F>], words: &mut [F::Word], put: impl Fn(F::Word) -> F::Word) {
    for (lane, node) in words.chunks_exact_mut(rows.len()).enumerate() {
        rows.iter().zip(node).for_each(|(row, x)| *x = put(row[lane]));
    }
}
