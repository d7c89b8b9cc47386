//! Errors of keys, both in batches and in single calls.

use ringforge_batch::{SchemeError, word};

/// Error of a key, or of the seed of a key, in the KEMs of the CTRU family. A scheme need not use all variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The seed leads to a polynomial without an inverse, hence to no key.
    #[error("the seed gives no key, because its polynomial has no inverse: use another seed")]
    NotInvertible,
    /// A public key, possibly inside a secret key, that key generation cannot produce.
    #[error("coefficient {coefficient} of the public key is not below the modulus")]
    InvalidPublicKey {
        /// Index of the first coefficient that is not below the modulus.
        coefficient: usize,
    },
    /// A secret key that key generation cannot produce.
    #[error("coefficient {coefficient} of the secret key is out of range")]
    InvalidSecretKey {
        /// Index of the first coefficient that is out of range.
        coefficient: usize,
    },
}

/// The error codes are those of `kem_status.cuh`.
impl SchemeError for KeyError {
    fn word(self) -> u32 {
        match self {
            Self::NotInvertible => word(1, 0),
            Self::InvalidPublicKey { coefficient } => word(2, coefficient),
            Self::InvalidSecretKey { coefficient } => word(3, coefficient),
        }
    }

    fn all(coefficient: usize) -> impl IntoIterator<Item = Self> {
        [Self::NotInvertible, Self::InvalidPublicKey { coefficient }, Self::InvalidSecretKey { coefficient }]
    }
}
