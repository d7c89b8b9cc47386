//! The order of evaluations.

use core::fmt;

/// The order of a transform's values: of those that a forward transform leaves, and those that an inverse one takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Leaves in the order of the splitting tree, left child first: bit-reversed order where every radix is 2. The fastest.
    #[default]
    Tree,
    /// Leaves x^d − root^e by ascending e: a cyclic transform gives a(root^i) at i, a negacyclic one a(root^(2i+1)).
    Natural,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tree => "tree order",
            Self::Natural => "natural order",
        })
    }
}
