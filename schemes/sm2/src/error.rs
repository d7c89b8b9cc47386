//! Errors of keys, nonces and signatures, for batches and single items.

use ringforge_batch::{SchemeError, word};

/// An error of a key, a nonce or a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Sm2Error {
    /// A private key is out of range: d must be from 1 to n − 2.
    #[error("the private key is out of range")]
    PrivateKeyRange = 5,
    /// A public key is not a valid point of the curve.
    #[error("the public key is not a point of the curve")]
    PublicKeyPoint,
    /// A nonce is out of range, or gives no signature with this key and digest. Another nonce is needed.
    #[error("the nonce is out of range or gives no signature with this key and digest: use another nonce")]
    NonceRefused,
    /// r or s of a signature is out of range.
    #[error("r or s of the signature is out of range")]
    SignatureRange,
    /// A signature does not match this digest and key.
    #[error("the signature does not match the digest and key")]
    SignatureWrong,
}

/// The status words, as `sm2.cuh` defines them.
impl SchemeError for Sm2Error {
    fn word(self) -> u32 {
        word(self as u8, 0)
    }

    fn all(_: usize) -> impl IntoIterator<Item = Self> {
        [Self::PrivateKeyRange, Self::PublicKeyPoint, Self::NonceRefused, Self::SignatureRange, Self::SignatureWrong]
    }
}
