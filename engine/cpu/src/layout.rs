//! The table of the factors of transforms modulo one prime.

use core::ops::Range;

use crate::shape::Shape;

/// Where the factors lie in the table of a modulus, counted in factors.
///
/// With s = 1/t, z the constant x^k − z of the left child of the first layer (Z under [`Layer::Sixth`](crate::Layer)) and F the
/// factor that products of two words lack, it starts with
///
/// | entry | no layers | `Two` | `Three` | `Sixth` |
/// | --- | --- | --- | --- | --- |
/// | 0 | σ = ρ^(t/3), or 1 without a layer `Three` | | | |
/// | 1 | s | s | s | s |
/// | 2 | 1 | s z^-1 | s z^-1 | s / (2Z − 1) |
/// | 3 | 1 | 1 | s z^-2 | Z |
/// | 4 | F s | F s | F s | F s |
/// | 5 | 1 | F s z^-1 | F s z^-1 | F s / (2Z − 1) |
/// | 6 | 1 | 1 | F s z^-2 | Z |
/// | 7 | F | F | F | F |
///
/// and goes on with the sections below. A job has these entries once more, with its scale k in s = k/t. Nodes of a layer are in
/// order from left to right, but from layer `columns` on by columns: node number i under node j above that layer stands at place i·(nodes above it) + j, so that threads which
/// work under neighbouring nodes read neighbouring factors. Where the last four layers are of two, roots of unity stand at the end:
/// number i < 8 is that which the factor of node i under any node, some layers above, is more than that of node 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Start of each layer's factors for the forward transform: z for each node, and z² after it under `Three`.
    pub forward: Vec<usize>,
    /// The same for the inverse transform: z^-1 and z^-2; Z itself under `Sixth`.
    pub inverse: Vec<usize>,
    /// The constants β of the leaves x^d − β; there are none if d is 1.
    pub leaves: Range<usize>,
    /// Start of the roots of unity, and of their inverses behind them. An odd number of factors before them is made even by a
    /// factor 1.
    pub roots: usize,
    /// Factors of a row.
    pub len: usize,
    /// The first layer that is stored by columns.
    pub columns: usize,
}

/// Entries before the sections.
pub const HEADER: usize = 8;

/// Roots of unity of a table that has them, and as many inverses.
pub(crate) const ROOTS: usize = 8;

impl Layout {
    /// The layout for a split, by columns from this layer on.
    #[must_use]
    pub fn of(shape: Shape<'_>, columns: usize) -> Self {
        let mut end = HEADER;
        let mut section = || {
            let starts = shape.layers.iter().enumerate().map(|(i, layer)| {
                let start = end;
                end += shape.nodes(i) * layer.factors();
                start
            });
            starts.collect::<Vec<usize>>()
        };
        let (forward, inverse) = (section(), section());
        let leaves = end..end + if shape.base > 1 { shape.leaves() } else { 0 };
        let roots = leaves.end.next_multiple_of(2);
        let len = roots + if shape.ends_by_twos() { 2 * ROOTS } else { 0 };
        Self { forward, inverse, leaves, roots, len, columns }
    }

    /// Whether nodes of every layer are in order from left to right.
    #[must_use]
    pub fn by_nodes(&self, shape: Shape<'_>) -> bool {
        self.columns >= shape.layers.len()
    }

    /// For each factor of a row with all nodes in order, its place in this layout.
    #[must_use]
    pub fn places(&self, shape: Shape<'_>) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.len).collect();
        let tops = shape.nodes(self.columns);
        let layers = shape.layers.iter().enumerate().skip(self.columns);
        let sections = layers.flat_map(|(layer, kind)| {
            [self.forward[layer], self.inverse[layer]].map(|start| (start, shape.nodes(layer), kind.factors()))
        });
        for (start, nodes, each) in sections.chain([(self.leaves.start, self.leaves.len(), 1)]) {
            let inner = nodes / tops;
            for node in 0..nodes {
                let place = node % inner * tops + node / inner;
                for factor in 0..each {
                    places[start + node * each + factor] = start + place * each + factor;
                }
            }
        }
        places
    }
}

/// The entries of a table before its sections.
pub(crate) fn header_of<T: Copy>(table: &[T]) -> [T; HEADER] {
    core::array::from_fn(|i| table[i])
}
