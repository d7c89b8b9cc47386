//! [`SignatureError`]: errors of signatures.

use ringforge_batch::{SchemeError, word};

/// Errors found by the verification of FIPS 204.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The signature is not one of this message by this key.
    #[error("the signature is not one of this message by this key")]
    Invalid,
}

impl SchemeError for SignatureError {
    fn word(self) -> u32 {
        word(10, 0)
    }

    fn all(_: usize) -> impl IntoIterator<Item = Self> {
        [Self::Invalid]
    }
}
