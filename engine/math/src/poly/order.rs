//! The order of evaluations.

use core::fmt;

/// The order of evaluations in a buffer, which a forward transform writes and an inverse transform reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The leaves in the order of the factorisation tree, left child first. This is digit-reversed order, or
    /// bit-reversed order if every radix is 2. It is the fastest order.
    #[default]
    DigitReversed,
    /// The leaves x^d − root^e by ascending e; for a [`Quotient::Binomial`](crate::Quotient), x^d − root·step^e.
    /// With d = 1, a cyclic transform returns a(root^i) at index i, a negacyclic one a(root^(2i+1)).
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
