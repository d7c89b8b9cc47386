//! Sizes of items, and the number of items in a byte slice.

use ringforge::{Error, Result};

/// Bytes of randomness per key pair: 32 from which the key pair is derived, then 32 from which the shared keys of
/// rejected ciphertexts are derived.
pub const KEY_SEED: usize = 64;

/// Bytes of randomness per encapsulation.
pub const ENCAPSULATION_SEED: usize = 32;

/// Sizes of one item, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// A public key.
    pub public_key: usize,
    /// A secret key.
    pub secret_key: usize,
    /// A ciphertext.
    pub ciphertext: usize,
    /// A shared key.
    pub shared_key: usize,
}

/// Returns the number of items of `size` bytes in `bytes` bytes; 0 if both are 0. `what` names the bytes in the error.
///
/// # Errors
/// [`Error::Length`] if the last item is incomplete, or if only `size` is 0. The error's field `expected` is the length
/// of the complete items.
pub fn batch_of(what: &'static str, bytes: usize, size: usize) -> Result<usize> {
    let batch = bytes.checked_div(size).unwrap_or(0);
    let expected = batch.saturating_mul(size);
    if bytes == expected { Ok(batch) } else { Err(Error::Length { what, expected, got: bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_batches_are_counted() {
        assert_eq!(batch_of("bytes", 6, 3), Ok(2));
        assert_eq!(batch_of("bytes", 0, 3), Ok(0));
        assert_eq!(batch_of("bytes", 0, 0), Ok(0));
    }

    #[test]
    fn incomplete_items_are_refused() {
        let length = |what, expected, got| Err(Error::Length { what, expected, got });
        assert_eq!(batch_of("bytes of public keys", 7, 3), length("bytes of public keys", 6, 7));
        assert_eq!(batch_of("bytes", 1, 0), length("bytes", 0, 1));
        assert!(batch_of("bytes", usize::MAX, 2).is_err());
    }
}
