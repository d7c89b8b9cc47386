//! What element-wise steps make of elements.

use core::fmt;

use crypto_bigint::U256;

/// A sum of elements, each as it is or negated, times a number for each modulus.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Combination {
    /// Whether each term changes its sign: one or two of them.
    #[doc(hidden)]
    pub minus: Vec<bool>,
    /// Below the moduli of the basis.
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
