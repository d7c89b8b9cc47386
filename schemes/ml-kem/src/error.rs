//! [`KeyError`]: errors of keys.

use ringforge_batch::{SchemeError, word};

/// Errors found by the key checks of FIPS 203, section 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A coefficient of a public key is not below the modulus.
    #[error("coefficient {coefficient} of the public key is not below the modulus")]
    InvalidPublicKey {
        /// Index of the first coefficient that is not below the modulus.
        coefficient: usize,
    },
    /// The hash in a secret key differs from the hash of the public key in it.
    #[error("the hash in the secret key does not match the public key in it")]
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
