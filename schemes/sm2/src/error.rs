//! Errors of keys, nonces and signatures, both in batches and in single operations.

use ringforge_batch::{SchemeError, word};

/// An error of a key, a nonce or a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Sm2Error {
    /// The private key d is not from 1 to n − 2, where n is the order of the group.
    #[error("the private key is out of range")]
    PrivateKeyRange = 5,
    /// The public key is not a point of the curve with coordinates below the field prime p.
    #[error("the public key is not a point of the curve")]
    PublicKeyPoint,
    /// The nonce is not from 1 to n − 1 (n: the order of the group), or gives no signature with this key and digest.
    /// Another nonce is needed.
    #[error("the nonce is out of range or gives no signature with this key and digest: use another nonce")]
    NonceRefused,
    /// r or s of the signature is not from 1 to n − 1, where n is the order of the group.
    #[error("r or s of the signature is out of range")]
    SignatureRange,
    /// The signature does not match this digest and public key.
    #[error("the signature does not match the digest and key")]
    SignatureWrong,
}

/// Status words of kernels, with the same numbers as in `sm2.cuh`.
impl SchemeError for Sm2Error {
    fn word(self) -> u32 {
        word(self as u8, 0)
    }

    fn all(_: usize) -> impl IntoIterator<Item = Self> {
        [Self::PrivateKeyRange, Self::PublicKeyPoint, Self::NonceRefused, Self::SignatureRange, Self::SignatureWrong]
    }
}
