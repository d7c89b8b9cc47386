//! What can be wrong with a key.

use ringforge_batch::{SchemeError, word};

/// What the checks of FIPS 203, section 7, find wrong with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A coefficient of a public key is not below the modulus.
    #[error("coefficient {coefficient} of the public key is not below the modulus")]
    InvalidPublicKey {
        /// The first such coefficient.
        coefficient: usize,
    },
    /// A secret key does not have the hash of the public key within it.
    #[error("the secret key does not have its public key's hash")]
    WrongHash,
}

impl SchemeError for KeyError {
    fn word(self) -> u32 {
        match self {
            Self::InvalidPublicKey { coefficient } => word(2, coefficient),
            Self::WrongHash => word(4, 0),
        }
    }

    fn all(coefficient: usize) -> impl IntoIterator<Item = Self> {
        [Self::InvalidPublicKey { coefficient }, Self::WrongHash]
    }
}
