//! The layout of the twiddle table of a transform modulo one prime.

use core::ops::Range;

use crate::shape::Shape;

/// Positions of the twiddle factors in the table of one modulus, counted in twiddle factors.
///
/// Let t be the number of leaves of a tree, s = 1/t, and F the constant by which the reduction of a product divides.
/// Let ρ be the root of unity [`Roots::step`](crate::Roots::step), and x^k − z the left child of the first layer. Under
/// [`Layer::Sixth`](crate::Layer), this z is called Z. The table starts with a header:
///
/// - Entry 0 is σ = ρ^(t/3), or 1 if there is no layer `Three`.
/// - Entries 1 to 3 are the scales of the inverse transform's last layer. They depend on the first layer.
/// - Without layers, they are s, 1 and 1.
/// - For `Two`, they are s, s·z^-1 and 1.
/// - For `Three`, they are s, s·z^-1 and s·z^-2.
/// - For `Sixth`, they are s, s / (2Z − 1) and Z.
/// - Entries 4 to 6 are the same scales with F·s instead of s, for an inverse transform of products that were divided
///   by F.
/// - Entry 7 is F.
///
/// The sections listed in the fields follow. If a job scales its result by a constant c, its copy of the header has
/// s = c/t.
///
/// Within a layer, nodes are in order from left to right. From layer [`columns`](Self::columns) on, their order is
/// transposed. Let N be the number of nodes above layer `columns`: the i-th descendant of the j-th of them is at
/// position i·N + j. So threads that work under neighbouring nodes read neighbouring twiddle factors.
///
/// If the last four layers are `Two`, the table ends with roots of unity. Root i < 8 is the twiddle factor of node i
/// divided by that of node 0, among the eight nodes three layers below a common ancestor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Start of each layer's twiddle factors for the forward transform. Each node has z, followed by z² if the layer is
    /// `Three`.
    pub forward: Vec<usize>,
    /// Start of each layer's twiddle factors for the inverse transform. Each node has z^-1, followed by z^-2 if the
    /// layer is `Three`; under `Sixth`, each node has z itself.
    pub inverse: Vec<usize>,
    /// Range of the constants β of the leaves x^d − β; empty if d is 1.
    pub leaves: Range<usize>,
    /// Start of the roots of unity; their inverses come after them. The start is even: if the entries before it are odd
    /// in number, a 1 is added as padding.
    pub roots: usize,
    /// Number of twiddle factors in the table.
    pub len: usize,
    /// The first layer whose nodes are stored in transposed order; at least the number of layers if there is none.
    pub columns: usize,
}

/// Number of entries in the header of a twiddle table.
pub const HEADER: usize = 8;

/// Number of roots of unity at the end of a twiddle table that has them. Their inverses, equal in number, come after
/// them.
pub(crate) const ROOTS: usize = 8;

impl Layout {
    /// Returns the layout for a factorisation, with transposed order of the nodes from layer `columns` on.
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

    /// Returns true if the nodes of every layer are stored from left to right.
    #[must_use]
    pub fn by_nodes(&self, shape: Shape<'_>) -> bool {
        self.columns >= shape.layers.len()
    }

    /// For each position in a table that stores all nodes from left to right, returns the position of that entry in
    /// this layout.
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

/// Returns the first [`HEADER`] entries of a twiddle table.
pub(crate) fn header_of<T: Copy>(table: &[T]) -> [T; HEADER] {
    core::array::from_fn(|i| table[i])
}
