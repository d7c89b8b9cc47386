//! What can be wrong with a key, in batches and one by one.

use ringforge_batch::{SchemeError, word};

/// What is wrong with a key, or with the seed of one: any of the family, of which not every scheme has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The seed leads to a polynomial without an inverse, and so to no key.
    #[error("the seed gives no key: its polynomial has no inverse")]
    NotInvertible,
    /// A public key, also one within a secret key, is not as key generation makes them.
    #[error("coefficient {coefficient} of the public key is not below the modulus")]
    InvalidPublicKey {
        /// The first such coefficient.
        coefficient: usize,
    },
    /// A secret key is not as key generation makes them.
    #[error("coefficient {coefficient} of the secret key is out of range")]
    InvalidSecretKey {
        /// The first such coefficient.
        coefficient: usize,
    },
}

/// The words of `kem_status.cuh`.
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
