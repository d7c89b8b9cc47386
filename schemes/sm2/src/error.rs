//! What can be wrong with keys, nonces and signatures, in batches and one by one.

use ringforge_batch::{SchemeError, word};

/// What is wrong with a key, a nonce or a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Sm2Error {
    /// A private scalar is out of range.
    #[error("the private key is out of range")]
    PrivateKeyRange = 5,
    /// A public key is not a point of the curve, or not one that a key may be.
    #[error("the public key is not a point of the curve")]
    PublicKeyPoint,
    /// A nonce is out of range, or leads to no signature with this key and digest. Another one has to be found.
    #[error("the nonce is refused")]
    NonceRefused,
    /// A number of a signature is out of range.
    #[error("a number of the signature is out of range")]
    SignatureRange,
    /// A signature is not one of this digest by this key.
    #[error("the signature is wrong")]
    SignatureWrong,
}

/// The words of `sm2.cuh`.
impl SchemeError for Sm2Error {
    fn word(self) -> u32 {
        word(self as u8, 0)
    }

    fn all(_: usize) -> impl IntoIterator<Item = Self> {
        [Self::PrivateKeyRange, Self::PublicKeyPoint, Self::NonceRefused, Self::SignatureRange, Self::SignatureWrong]
    }
}
