//! The quotient polynomial f of a ring.

use core::fmt;

use crypto_bigint::U256;

use crate::decimal::decimal;
use crate::error::{Error, Result};
use crate::modulus::Modulus;
use crate::ring::Ring;

/// The monic polynomial f; a ring's elements are polynomials modulo f.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quotient {
    /// x^n − 1.
    Cyclic {
        /// The degree.
        n: usize,
    },
    /// x^n + 1.
    Negacyclic {
        /// The degree.
        n: usize,
    },
    /// x^n − c, where c is reduced modulo each modulus. A cyclic transform on the coset of g has c = g^n.
    Binomial {
        /// The degree.
        n: usize,
        /// The constant.
        c: U256,
    },
    /// x^n − x^(n/2) + 1, for even n.
    Trinomial {
        /// The degree.
        n: usize,
    },
    /// x^p − x − 1.
    PrimeTrinomial {
        /// The degree.
        p: usize,
    },
    /// x^n + Σ c·x^k over the pairs (k, c), with distinct k < n.
    Sparse {
        /// The degree.
        n: usize,
        /// The lower terms, as (exponent, coefficient).
        terms: Vec<(usize, i64)>,
    },
}

impl Quotient {
    /// The degree of f, which is the number of coefficients of an element.
    #[must_use]
    pub fn degree(&self) -> usize {
        match *self {
            Self::Cyclic { n }
            | Self::Negacyclic { n }
            | Self::Binomial { n, .. }
            | Self::Trinomial { n }
            | Self::Sparse { n, .. } => n,
            Self::PrimeTrinomial { p } => p,
        }
    }

    /// Returns x^n mod (f, q) for f of degree n, as pairs (exponent, coefficient) with ascending exponents.
    #[must_use]
    pub fn tail(&self, q: &Modulus) -> Vec<(usize, U256)> {
        let mut tail = match self {
            Self::Cyclic { .. } => vec![(0, q.reduce_i64(1))],
            Self::Negacyclic { .. } => vec![(0, q.reduce_i64(-1))],
            Self::Binomial { c, .. } => vec![(0, q.reduce(c))],
            Self::Trinomial { n } => vec![(0, q.reduce_i64(-1)), (n / 2, q.reduce_i64(1))],
            Self::PrimeTrinomial { .. } => vec![(0, q.reduce_i64(1)), (1, q.reduce_i64(1))],
            Self::Sparse { terms, .. } => terms.iter().map(|&(k, c)| (k, q.neg(&q.reduce_i64(c)))).collect(),
        };
        tail.sort_unstable_by_key(|&(k, _)| k);
        tail
    }

    /// Returns the same polynomial in canonical form: as a variant other than [`Quotient::Sparse`] if one matches, else
    /// with its nonzero terms in descending order.
    pub(super) fn named(self, basis: &[Modulus]) -> Self {
        let Self::Sparse { n, mut terms } = self else { return self };
        terms.retain(|&(_, c)| c != 0);
        terms.sort_unstable_by_key(|&(k, _)| core::cmp::Reverse(k));
        match (&terms[..], basis) {
            ([(0, -1)], _) => Self::Cyclic { n },
            ([(0, 1)], _) => Self::Negacyclic { n },
            (&[(0, c)], _) if c < 0 => Self::Binomial { n, c: U256::from(c.unsigned_abs()) },
            (&[(0, c)], [q]) => Self::Binomial { n, c: q.neg(&q.reduce_i64(c)) },
            ([(k, -1), (0, 1)], _) if 2 * k == n => Self::Trinomial { n },
            ([(1, -1), (0, -1)], _) => Self::PrimeTrinomial { p: n },
            _ => Self::Sparse { n, terms },
        }
    }

    /// Checks that the polynomial is valid.
    ///
    /// # Errors
    /// [`Error::Ring`] for a degree of 0 or a malformed polynomial; [`Error::TooLarge`] for a degree above
    /// [`Ring::MAX_DEGREE`].
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |why: &str| Err(Error::Ring { why: format!("{self}: {why}") });
        let n = self.degree();
        if n == 0 {
            return refuse("the degree must be at least 1");
        }
        if n > Ring::MAX_DEGREE {
            return Err(Error::TooLarge { what: "the degree", limit: Ring::MAX_DEGREE, got: n });
        }
        match self {
            Self::Trinomial { n } if n % 2 == 1 => refuse("the degree must be even"),
            Self::PrimeTrinomial { p } if *p < 2 => refuse("the degree must be at least 2"),
            Self::Sparse { terms, .. } => {
                let mut exponents: Vec<usize> = terms.iter().map(|&(k, _)| k).collect();
                exponents.sort_unstable();
                if exponents.last().is_some_and(|&k| k >= n) {
                    return refuse("every lower term must have an exponent below the degree");
                }
                if exponents.windows(2).any(|pair| pair[0] == pair[1]) {
                    return refuse("two terms have the same exponent");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cyclic { n } => write!(f, "x^{n} - 1"),
            Self::Negacyclic { n } => write!(f, "x^{n} + 1"),
            // The parentheses are needed: without them, x^n - 1 would parse as cyclic, and x^n - 0 as x^n.
            Self::Binomial { n, c } if *c <= U256::ONE => write!(f, "x^{n} - ({})", decimal(c)),
            Self::Binomial { n, c } => write!(f, "x^{n} - {}", decimal(c)),
            Self::Trinomial { n } => write!(f, "x^{n} - x^{} + 1", n / 2),
            Self::PrimeTrinomial { p } => write!(f, "x^{p} - x - 1"),
            Self::Sparse { n, terms } => {
                write!(f, "x^{n}")?;
                let mut terms = terms.clone();
                terms.sort_unstable_by_key(|&(k, _)| core::cmp::Reverse(k));
                for (k, c) in terms {
                    let sign = if c < 0 { '-' } else { '+' };
                    match (k, c.unsigned_abs()) {
                        (0, c) => write!(f, " {sign} {c}")?,
                        (1, 0) => write!(f, " {sign} 0*x")?,
                        (1, 1) => write!(f, " {sign} x")?,
                        (1, c) => write!(f, " {sign} {c}x")?,
                        (k, 1) => write!(f, " {sign} x^{k}")?,
                        (k, 0) => write!(f, " {sign} 0*x^{k}")?, // 0x would start a hexadecimal number
                        (k, c) => write!(f, " {sign} {c}x^{k}")?,
                    }
                }
                Ok(())
            }
        }
    }
}
