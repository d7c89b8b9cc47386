//! The order of evaluations.

use core::fmt;

/// The order of evaluations in a buffer: the output of a forward transform and the input of an inverse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Leaves in the order of the factorisation tree, left child first: digit-reversed order, or bit-reversed order if
    /// every radix is 2. This is the fastest order.
    #[default]
    DigitReversed,
    /// Leaves x^d − root^e by ascending e: a cyclic transform returns a(root^i) at index i, a negacyclic one
    /// a(root^(2i+1)).
    Natural,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DigitReversed => "digit-reversed order",
            Self::Natural => "natural order",
        })
    }
}
