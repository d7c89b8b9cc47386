//! Linear combinations of one or two elements, which element-wise kernels compute.

use core::fmt;

use crypto_bigint::U256;

/// A signed sum of one or two elements, optionally times one constant per modulus: `factor · (±a ± b)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Combination {
    /// For each term of the sum, whether it is negated. There are one or two terms.
    #[doc(hidden)]
    pub minus: Vec<bool>,
    /// One constant for each modulus of the ring, below that modulus. `None` without scaling.
    #[doc(hidden)]
    pub factor: Option<Vec<U256>>,
}

impl Combination {
    #[doc(hidden)]
    pub fn of(minus: &[bool]) -> Self {
        Self { minus: minus.to_vec(), factor: None }
    }

    #[doc(hidden)]
    pub fn times(self, factor: Vec<U256>) -> Self {
        Self { factor: Some(factor), ..self }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signs: Vec<&str> = self.minus.iter().map(|minus| if *minus { "-" } else { "+" }).collect();
        f.write_str(&signs.join(" "))?;
        f.write_str(if self.factor.is_some() { ", times a number each" } else { "" })
    }
}
