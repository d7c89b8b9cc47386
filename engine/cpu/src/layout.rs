//! The twiddle table of a transform modulo one prime.

use core::ops::Range;

use crate::shape::Shape;

/// Positions of the twiddle factors in the table of one modulus, counted in factors.
///
/// Let s = 1/t, where t is the number of leaves of a tree, and let F be the factor that products of two words lack. Let
/// x^k − z be the left child of the first layer (Z under [`Layer::Sixth`](crate::Layer)). The table starts with this
/// header:
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
/// The sections listed in the fields follow. A job has its own copy of the header, with its scale k in s = k/t.
///
/// Within a layer, nodes are in order from left to right. From layer `columns` on they are stored by columns: node i
/// under node j above that layer is at position i·(nodes above it) + j. So threads that work under neighbouring nodes
/// read neighbouring factors.
///
/// If the last four layers are `Two`, the table ends with roots of unity. Root i < 8 is the ratio between the twiddle
/// factors of node i and node 0, counted below a common ancestor some layers above.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Start of each layer's twiddle factors for the forward transform: z for each node, followed by z² under `Three`.
    pub forward: Vec<usize>,
    /// The same for the inverse transform: z^-1 and z^-2, or Z itself under `Sixth`.
    pub inverse: Vec<usize>,
    /// The constants β of the leaves x^d − β; empty if d is 1.
    pub leaves: Range<usize>,
    /// Start of the roots of unity, which their inverses follow. If an odd number of factors precedes them, one factor
    /// 1 is padding.
    pub roots: usize,
    /// Number of factors in the table.
    pub len: usize,
    /// The first layer stored by columns.
    pub columns: usize,
}

/// Number of header entries, which precede the sections.
pub const HEADER: usize = 8;

/// Number of roots of unity in a table that has them; as many inverses follow.
pub(crate) const ROOTS: usize = 8;

impl Layout {
    /// The layout for a factorisation, stored by columns from layer `columns` on.
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

    /// Whether the nodes of every layer are stored from left to right.
    #[must_use]
    pub fn by_nodes(&self, shape: Shape<'_>) -> bool {
        self.columns >= shape.layers.len()
    }

    /// Maps each factor, counted with all nodes from left to right, to its position in this layout.
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

/// The header of a table.
pub(crate) fn header_of<T: Copy>(table: &[T]) -> [T; HEADER] {
    core::array::from_fn(|i| table[i])
}
