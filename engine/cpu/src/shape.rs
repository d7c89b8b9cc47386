//! The factorisation tree of a ring's polynomial.

/// The largest leaf degree whose leaves can be multiplied in the NTT domain. By default, transforms do not end at
/// larger leaves.
pub const MAX_LEAF_DEGREE: usize = 8;

/// One layer of a factorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Splits x^(2k) − x^k + 1 into x^k − ζ and x^k − ζ^5, where ζ is a primitive sixth root of unity. Only used as the
    /// first layer of a ring modulo x^n − x^(n/2) + 1.
    Sixth,
    /// Splits x^(2k) − z² into x^k − z and x^k + z.
    Two,
    /// Splits x^(3k) − z³ into x^k − z, x^k − σz and x^k − σ²z, where σ is a primitive third root of unity.
    Three,
}

impl Layer {
    /// Number of children of a node.
    #[must_use]
    pub const fn radix(self) -> usize {
        match self {
            Self::Sixth | Self::Two => 2,
            Self::Three => 3,
        }
    }

    /// Number of twiddle factors that each node has.
    pub(crate) const fn factors(self) -> usize {
        self.radix() - 1
    }
}

/// A factorisation tree, from a polynomial of degree n down to leaves x^d − β.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Degree of the polynomial.
    pub n: usize,
    /// Degree d of the leaves.
    pub base: usize,
    /// The layers, from the top.
    pub layers: &'a [Layer],
}

impl Shape<'_> {
    /// Returns true if the first layer is [`Layer::Sixth`], so that there are two trees below it.
    #[must_use]
    pub fn has_sixth(&self) -> bool {
        self.layers.first() == Some(&Layer::Sixth)
    }

    /// The number of leaves of each tree; there are two trees if the first layer is [`Layer::Sixth`].
    #[must_use]
    pub fn tree_leaves(&self) -> usize {
        product(&self.layers[usize::from(self.has_sixth())..])
    }

    /// The number of leaves of all trees.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.n / self.base
    }

    /// The number of nodes that a layer splits. For an index past the last layer, the number of leaves.
    #[must_use]
    pub fn nodes(&self, layer: usize) -> usize {
        product(&self.layers[..layer.min(self.layers.len())])
    }

    /// Returns true if the last four layers are [`Layer::Two`]. The [`Layout`](crate::Layout) then contains roots of
    /// unity.
    #[must_use]
    pub fn ends_by_twos(&self) -> bool {
        self.layers.len() > 3 && self.layers.iter().rev().take(4).all(|layer| *layer == Layer::Two)
    }

    /// Returns true if leaves of degree d can be inverted. This needs d = 2^k or 3·2^k, because norms halve the degree
    /// down to 1 or 3.
    #[must_use]
    pub fn can_be_inverted(&self) -> bool {
        matches!(self.base >> self.base.trailing_zeros(), 1 | 3)
    }
}

fn product(layers: &[Layer]) -> usize {
    layers.iter().map(|layer| layer.radix()).product()
}
