//! Sizes of items, and how many of them byte slices hold.

use ringforge::{Error, Result};

/// Bytes of randomness for a key pair: 32 for the key, then 32 for the keys of rejected ciphertexts.
pub const KEY_SEED: usize = 64;

/// Bytes of randomness for an encapsulation.
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

impl Sizes {
    /// The batch of key pairs that these slices hold.
    ///
    /// # Errors
    /// [`Error::Length`] unless both hold the same number of whole items.
    pub fn generations(&self, public_keys: &[u8], secret_keys: &[u8]) -> Result<usize> {
        let batch = batch_of("bytes of public keys", public_keys.len(), self.public_key)?;
        same("bytes of secret keys", secret_keys.len(), self.secret_key, batch)?;
        Ok(batch)
    }

    /// The batch of encapsulations that these slices hold.
    ///
    /// # Errors
    /// [`Error::Length`] unless all hold the same number of whole items.
    pub fn encapsulations(&self, public_keys: &[u8], ciphertexts: &[u8], shared_keys: &[u8]) -> Result<usize> {
        let batch = batch_of("bytes of public keys", public_keys.len(), self.public_key)?;
        same("bytes of ciphertexts", ciphertexts.len(), self.ciphertext, batch)?;
        same("bytes of shared keys", shared_keys.len(), self.shared_key, batch)?;
        Ok(batch)
    }

    /// The batch of decapsulations that these slices hold.
    ///
    /// # Errors
    /// [`Error::Length`] unless all hold the same number of whole items.
    pub fn decapsulations(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &[u8]) -> Result<usize> {
        let batch = batch_of("bytes of secret keys", secret_keys.len(), self.secret_key)?;
        same("bytes of ciphertexts", ciphertexts.len(), self.ciphertext, batch)?;
        same("bytes of shared keys", shared_keys.len(), self.shared_key, batch)?;
        Ok(batch)
    }
}

/// How many items of `size` bytes make `bytes` bytes; `what` names them in the error.
///
/// # Errors
/// [`Error::Length`] if the last item is cut off: it tells the length without it.
pub fn batch_of(what: &'static str, bytes: usize, size: usize) -> Result<usize> {
    let batch = bytes.checked_div(size).unwrap_or(0);
    same(what, bytes, size, batch)?;
    Ok(batch)
}

fn same(what: &'static str, got: usize, size: usize, batch: usize) -> Result<()> {
    let expected = batch.saturating_mul(size);
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { public_key: 3, secret_key: 5, ciphertext: 4, shared_key: 2 };

    #[test]
    fn whole_batches_are_counted() {
        assert_eq!(SIZES.generations(&[0; 6], &[0; 10]), Ok(2));
        assert_eq!(SIZES.encapsulations(&[0; 9], &[0; 12], &[0; 6]), Ok(3));
        assert_eq!(SIZES.decapsulations(&[], &[], &[]), Ok(0));
        assert_eq!(batch_of("bytes", 0, 0), Ok(0));
    }

    #[test]
    fn cut_and_uneven_batches_are_refused() {
        let length = |what, expected, got| Err(Error::Length { what, expected, got });
        assert_eq!(SIZES.generations(&[0; 7], &[0; 10]), length("bytes of public keys", 6, 7));
        assert_eq!(SIZES.generations(&[0; 6], &[0; 5]), length("bytes of secret keys", 10, 5));
        assert_eq!(SIZES.encapsulations(&[0; 3], &[0; 4], &[0; 3]), length("bytes of shared keys", 2, 3));
        assert_eq!(SIZES.decapsulations(&[0; 5], &[0; 3], &[0; 2]), length("bytes of ciphertexts", 4, 3));
        assert_eq!(batch_of("bytes", 1, 0), length("bytes", 0, 1));
        assert!(batch_of("bytes", usize::MAX, 2).is_err());
    }
}
