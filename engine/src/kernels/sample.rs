//! Sampling of random elements of a ring.

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

/// The distribution of [`Pipeline::sample`](crate::Pipeline::sample). All but the uniform one yield polynomials with
/// small integer coefficients: one polynomial per item, stored modulo every modulus of the ring.
///
/// "Within ε" bounds the statistical distance of a coefficient from the named distribution, for uniform random blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Uniform residues, independent of each other even if a modulus repeats. Each is a 192-bit random integer reduced
    /// modulo q, within 2^-130; in rings of 256-bit residues it has 434 bits and is within 2^-180.
    ///
    /// If one ring has the first limbs of another ring, the same random blocks give the same residues in these limbs.
    Uniform,
    /// −1, 0 and 1 with probability 1/3 each, within 2^-128.
    Ternary,
    /// Exactly `weight` coefficients are 1 or −1 with equal probability, and all others are 0. The positions are
    /// uniform too: for degree n and c = min(weight, n − weight), the whole polynomial is within n·c·2^-129.
    ///
    /// Each coefficient is compared with c positions, and each position with those before it: n·c + c²/2 comparisons.
    FixedWeight {
        /// Number of nonzero coefficients, at most n.
        weight: usize,
    },
    /// Centred binomial: the difference of two sums of η fair bits. Exact; the variance is η/2.
    Binomial {
        /// η, from 1 to 32.
        eta: u32,
    },
    /// A Gaussian of mean 0, rounded to the nearest integer: x has probability Φ((x + ½)/σ) − Φ((x − ½)/σ), and the
    /// variance is about σ² + 1/12. Within 14·(σ + 1)·2^-128; values with a probability below about 2^-128 do not
    /// occur.
    ///
    /// Each coefficient is compared with all thresholds: about 13·σ of them, 16 bytes each.
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

/// The steps that sample elements. The first step reads the port `key`, whose stream id selects the random stream, and
/// each later step reads the output of the step before it. Small integers are secret; uniform residues are secret only
/// if the key is. The result does not depend on how a batch is divided.
///
/// # Errors
/// [`Error::Unsupported`] for distribution parameters out of range, and for more than 2^32 random blocks per item.
pub(crate) fn steps(poly: &PolyType, distribution: Distribution, key: Port) -> Result<Vec<Arc<dyn Kernel>>> {
    let refuse = |why: &str| Err(Error::unsupported(format!("sampling ({distribution})"), poly, why));
    let small = |thresholds| -> Result<Vec<Arc<dyn Kernel>>> {
        Ok(vec![Arc::new(Small::new(poly, distribution, thresholds, key))])
    };
    match distribution {
        Distribution::Uniform => {
            let kernel = Uniform::new(poly, key);
            if kernel.blocks() > 1 << 32 {
                return refuse("an item would need more than 2^32 blocks of random bytes");
            }
            Ok(vec![Arc::new(kernel)])
        }
        Distribution::Ternary => small(thresholds::ternary()),
        Distribution::FixedWeight { weight } if weight <= poly.degree() => Ok(weight::steps(poly, weight, key).into()),
        Distribution::FixedWeight { .. } => refuse("the weight must not exceed the degree"),
        Distribution::Binomial { eta: eta @ 1..=32 } => small(thresholds::binomial(eta)),
        Distribution::Binomial { .. } => refuse("η must be from 1 to 32"),
        Distribution::Gaussian { sigma } if (0.0625..=1024.0).contains(&sigma) => small(thresholds::gaussian(sigma)),
        Distribution::Gaussian { .. } => refuse("σ must be from 1/16 to 1024"),
    }
}
