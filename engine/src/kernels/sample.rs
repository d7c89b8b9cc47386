//! Random elements of a ring.

mod elements;
mod key;
mod small;
mod uniform;
mod weight;

use core::fmt;
use std::sync::Arc;

use crate::kernels::thresholds;
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Kernel, Port};
use small::Small;
use uniform::Uniform;

/// What [`Pipeline::sample`](crate::Pipeline::sample) draws. All but the uniform one are polynomials with small integers as
/// coefficients: one polynomial an item, modulo every modulus of the ring.
///
/// "Within ε" is the statistical distance of a coefficient from the distribution named, for uniform random blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Uniform residues, independent of each other, also in rows whose modulus comes again. Of each, 192 random bits are
    /// reduced, or 434 in rings of 256-bit residues: within 2^-130, and 2^-180.
    ///
    /// A ring of the first few rows of another gets the same residues in these, from the same draws.
    Uniform,
    /// −1, 0 and 1 with probability 1/3 each, within 2^-128.
    Ternary,
    /// So many coefficients are 1 or −1, with equal probability, and all others 0: exactly. The places are uniform too: for
    /// degree n and c = min(weight, n − weight) the whole polynomial is within n·c·2^-129.
    ///
    /// Each coefficient is compared with c places, and each of these with those before it: n·c + c²/2 comparisons.
    FixedWeight {
        /// Coefficients that are not 0, at most n.
        weight: usize,
    },
    /// The difference of two sums of η fair bits: exact, variance η/2.
    Binomial {
        /// η, from 1 to 32.
        eta: u32,
    },
    /// The nearest integer to a Gaussian of mean 0: x with probability Φ((x + ½)/σ) − Φ((x − ½)/σ), variance about
    /// σ² + 1/12. Within 14·(σ + 1)·2^-128, and values whose probability is below about 2^-128 do not occur.
    ///
    /// All thresholds are compared for each coefficient, some 13·σ, and take 16 bytes each.
    Gaussian {
        /// σ, from 1/16 to 1024.
        sigma: f64,
    },
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Ternary => f.write_str("ternary"),
            Self::FixedWeight { weight } => write!(f, "ternary of weight {weight}"),
            Self::Binomial { eta } => write!(f, "binomial of {eta}"),
            Self::Gaussian { sigma } => write!(f, "Gaussian of {sigma}"),
        }
    }
}

/// The steps that draw elements, each of which takes what the one before it writes, the first one this key, in its series.
/// Small integers are secret, and uniform residues if the key is. Bytes are the same however a batch is cut.
///
/// # Errors
/// [`Error::Unsupported`] for parameters of the distribution that are out of range, and for more blocks than are counted.
pub(crate) fn steps(poly: &PolyType, distribution: Distribution, key: Port) -> Result<Vec<Arc<dyn Kernel>>> {
    let refuse = |why: &str| Err(Error::unsupported(format!("sampling ({distribution})"), poly, why));
    let small = |thresholds| -> Result<Vec<Arc<dyn Kernel>>> {
        Ok(vec![Arc::new(Small::new(poly, distribution, thresholds, key))])
    };
    match distribution {
        Distribution::Uniform => {
            let kernel = Uniform::new(poly, key);
            if kernel.blocks() > 1 << 32 {
                return refuse("an item has at most 2^32 blocks of random bytes");
            }
            Ok(vec![Arc::new(kernel)])
        }
        Distribution::Ternary => small(thresholds::ternary()),
        Distribution::FixedWeight { weight } if weight <= poly.degree() => Ok(weight::steps(poly, weight, key).into()),
        Distribution::FixedWeight { .. } => refuse("there are fewer coefficients"),
        Distribution::Binomial { eta: eta @ 1..=32 } => small(thresholds::binomial(eta)),
        Distribution::Binomial { .. } => refuse("η is from 1 to 32"),
        Distribution::Gaussian { sigma } if (0.0625..=1024.0).contains(&sigma) => small(thresholds::gaussian(sigma)),
        Distribution::Gaussian { .. } => refuse("σ is from 1/16 to 1024"),
    }
}
