//! Key encapsulation in batches whose randomness comes from the caller.

use ringforge::Result;

use crate::kem::BatchKem;
use crate::status::BatchStatus;

/// A [`BatchKem`] that can do without randomness of its own: for test vectors, and for protocols that derive theirs.
/// Seeds that are not uniform, secret and used once give away the keys.
pub trait DeterministicKem: BatchKem {
    /// As [`BatchKem::generate`], from [`KEY_SEED`](crate::KEY_SEED) bytes an item. Where a seed gives no key, its item has an
    /// error: no other seed is tried.
    ///
    /// # Errors
    /// As [`BatchKem::generate`]; [`Error::Length`](ringforge::Error::Length) unless there are as many seeds.
    fn generate_from(
        &self,
        seeds: &[u8],
        public_keys: &mut [u8],
        secret_keys: &mut [u8],
    ) -> Result<BatchStatus<Self::Error>>;

    /// As [`BatchKem::encapsulate`], from [`ENCAPSULATION_SEED`](crate::ENCAPSULATION_SEED) bytes an item.
    ///
    /// # Errors
    /// As [`BatchKem::encapsulate`]; [`Error::Length`](ringforge::Error::Length) unless there are as many seeds.
    fn encapsulate_from(
        &self,
        seeds: &[u8],
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<Self::Error>>;
}
