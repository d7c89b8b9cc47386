//! Key encapsulation in batches.

use ringforge::{Device, Result, Stream};

use crate::sizes::Sizes;
use crate::status::{BatchStatus, SchemeError};

/// Items on a device, in a layout of their own: a handle, made by a [`BatchKem`].
///
/// Work that makes it may still be under way; whatever takes the handle, on any stream, waits as it must. Handles of
/// secrets wipe their memory when they are dropped.
pub trait Resident {
    /// What can be wrong with an item.
    type Error: SchemeError;

    /// Items.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the work that makes the items and tells how they fared, errors of what they were made from included.
    ///
    /// # Errors
    /// [`Error::Driver`](ringforge::Error::Driver); [`Error::ForeignDevice`](ringforge::Error::ForeignDevice).
    fn status(&self, stream: &Stream) -> Result<BatchStatus<Self::Error>>;

    /// Waits for the items, copies them out, without gaps, and tells how they fared; those with an error are zero.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) unless `to` has the size of all items; as [`Resident::status`].
    fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<BatchStatus<Self::Error>>;
}

/// A key encapsulation mechanism, done for many items at once on one device.
///
/// Every function takes batches of any size, none included, and gives the same bytes as one operation after another
/// would. Errors are about the whole call, and then outputs hold nothing of use; what is wrong with single items is in
/// the [`BatchStatus`], their outputs are zero, and their neighbours fare as if nothing had happened.
///
/// Time and memory accesses tell nothing of secrets, nor whether a ciphertext was rejected: a rejected one gives a key
/// that looks random.
///
/// Besides what each function says, all may fail with [`Error::OutOfMemory`](ringforge::Error::OutOfMemory) or
/// [`Error::Driver`](ringforge::Error::Driver), and those that take streams or handles with
/// [`Error::ForeignDevice`](ringforge::Error::ForeignDevice).
pub trait BatchKem {
    /// What can be wrong with an item.
    type Error: SchemeError;
    /// Public keys on the device, also prepared for encapsulation.
    type PublicKeys: Resident<Error = Self::Error>;
    /// Secret keys on the device, also prepared for decapsulation.
    type SecretKeys: Resident<Error = Self::Error>;
    /// Ciphertexts on the device.
    type Ciphertexts: Resident<Error = Self::Error>;
    /// Shared keys on the device.
    type SharedKeys: Resident<Error = Self::Error>;

    /// Sizes of items.
    fn sizes(&self) -> Sizes;

    /// The device.
    fn device(&self) -> &Device;

    /// Fills both slices with new key pairs, from the system's randomness.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) as [`Sizes::generations`].
    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<BatchStatus<Self::Error>>;

    /// Fills the last two slices with new shared keys and their ciphertexts, one for each public key.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) as [`Sizes::encapsulations`].
    fn encapsulate(
        &self,
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<Self::Error>>;

    /// Fills the last slice with the shared key of each ciphertext.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) as [`Sizes::decapsulations`].
    fn decapsulate(
        &self,
        secret_keys: &[u8],
        ciphertexts: &[u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<Self::Error>>;

    /// Public keys to the device. Each is checked; its status is known to the handle.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) unless they are whole.
    fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<Self::PublicKeys>;

    /// Secret keys to the device. Each is checked; its status is known to the handle.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) unless they are whole.
    fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<Self::SecretKeys>;

    /// Ciphertexts to the device.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) unless they are whole.
    fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Self::Ciphertexts>;

    /// As [`BatchKem::generate`], on the device: `batch` key pairs.
    ///
    /// # Errors
    /// [`Error::TooLarge`](ringforge::Error::TooLarge) if they cannot be addressed.
    fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(Self::PublicKeys, Self::SecretKeys)>;

    /// As [`BatchKem::encapsulate`], on the device.
    ///
    /// # Errors
    /// Those of all functions alone.
    fn encapsulate_on(
        &self,
        stream: &Stream,
        public_keys: &Self::PublicKeys,
    ) -> Result<(Self::Ciphertexts, Self::SharedKeys)>;

    /// As [`BatchKem::decapsulate`], on the device.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) unless there are as many ciphertexts as secret keys.
    fn decapsulate_on(
        &self,
        stream: &Stream,
        secret_keys: &Self::SecretKeys,
        ciphertexts: &Self::Ciphertexts,
    ) -> Result<Self::SharedKeys>;
}
