//! What can be wrong with a key, in batches and one by one.

use ringforge_batch::{SchemeError, word};

/// What is wrong with a key. Any bytes are a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
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
        let Self::InvalidSecretKey { coefficient } = self;
        word(3, coefficient)
    }

    fn all(coefficient: usize) -> impl IntoIterator<Item = Self> {
        [Self::InvalidSecretKey { coefficient }]
    }
}
