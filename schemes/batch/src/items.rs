//! [`Items`]: handles to keys, ciphertexts and shared keys in device memory.

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use ringforge::{Buffer, Error, Result, Stream};

use crate::kem_scheme::KemScheme;
use crate::sizes::Sizes;
use crate::status::BatchStatus;

/// Handle to contiguous items of one kind (such as public keys) and one KEM in device memory, made by a
/// [`Batch`](crate::Batch). Secret items are wiped on drop.
///
/// The work that produces the items may still be running. Any function that takes the handle waits for that work as
/// needed, on any stream.
pub struct Items<K, M> {
    pub(crate) bytes: Buffer,
    /// Status words: one buffer for each run that wrote statuses while it made these items, or the items from which
    /// these were made.
    statuses: Vec<Arc<Buffer>>,
    kind: PhantomData<fn() -> (K, M)>,
}

/// Public keys on a device.
pub type PublicKeys<M> = Items<kinds::PublicKey, M>;
/// Secret keys on a device, wiped on drop.
pub type SecretKeys<M> = Items<kinds::SecretKey, M>;
/// Ciphertexts on a device.
pub type Ciphertexts<M> = Items<kinds::Ciphertext, M>;
/// Shared keys on a device, wiped on drop.
pub type SharedKeys<M> = Items<kinds::SharedKey, M>;

/// Kind of the items of a handle ([`Items`]). The module [`kinds`] has one type for each kind.
pub trait ItemKind {
    /// Name of the items' bytes in error messages, for example `bytes of public keys`.
    const BYTES: &'static str;
    /// True if the items are wiped on drop.
    const SECRET: bool;

    /// Bytes per item.
    fn size(sizes: &Sizes) -> usize;
}

/// Marker types for the kinds of items.
pub mod kinds {
    use super::{ItemKind, Sizes};

    macro_rules! kinds {
        ($($(#[$doc:meta])* $kind:ident: $size:ident, $bytes:literal, secret: $secret:literal;)*) => {$(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $kind {}

            impl ItemKind for $kind {
                const BYTES: &'static str = $bytes;
                const SECRET: bool = $secret;

                fn size(sizes: &Sizes) -> usize {
                    sizes.$size
                }
            }
        )*};
    }

    kinds! {
        /// Public keys.
        PublicKey: public_key, "bytes of public keys", secret: false;
        /// Secret keys.
        SecretKey: secret_key, "bytes of secret keys", secret: true;
        /// Ciphertexts.
        Ciphertext: ciphertext, "bytes of ciphertexts", secret: false;
        /// Shared keys.
        SharedKey: shared_key, "bytes of shared keys", secret: true;
    }
}

impl<K: ItemKind, M: KemScheme> Items<K, M> {
    /// Allocates device memory for `batch` items, to be written through [`Items::bytes_mut`]. Needed only for plans
    /// that a scheme adds to those of its [`KemScheme`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size of all items in bytes overflows; [`Error::OutOfMemory`] if the device has too
    /// little free memory.
    pub fn new(stream: &Stream, batch: usize) -> Result<Self> {
        let bytes = bytes_of(batch, K::size(&M::SIZES))?;
        let bytes = if K::SECRET { stream.secret_buffer(bytes) } else { stream.device().buffer(bytes) }?;
        Ok(Self { bytes, statuses: Vec::new(), kind: PhantomData })
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / K::size(&M::SIZES)
    }

    /// Returns true if there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Buffer with the bytes of all items, one item after another.
    #[must_use]
    pub fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    /// Buffer with the bytes of all items, for a plan to write to. The caller must wipe any copy of secret bytes.
    pub fn bytes_mut(&mut self) -> &mut Buffer {
        &mut self.bytes
    }

    /// Waits for the work that produces the items and returns their status. The status includes errors of the items
    /// from which these items were made.
    ///
    /// # Errors
    /// [`Error::ForeignDevice`] if the stream is on another device; [`Error::Driver`] if a driver call fails.
    pub fn status(&self, stream: &Stream) -> Result<BatchStatus<M::Error>> {
        let mut errors = Vec::new();
        for statuses in &self.statuses {
            errors.extend_from_slice(BatchStatus::of(&stream.download(statuses)?).errors());
        }
        Ok(BatchStatus::new(errors))
    }

    /// Waits for the work that produces the items, copies them to `to`, one item after another, and returns their
    /// status. Items with an error are zeroed in `to`.
    ///
    /// # Errors
    /// [`Error::Length`] unless `to` has exactly the size of all items; [`Error::Unwritten`] if the items were never
    /// written; the errors of [`Items::status`].
    pub fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<BatchStatus<M::Error>> {
        // The status is read first, because bytes of unknown status must not leave the device.
        let status = self.status(stream)?;
        match stream.read(&self.bytes, to) {
            Ok(()) => status.clear(to, K::size(&M::SIZES)),
            Err(error) => {
                to.fill(0);
                return Err(error);
            }
        }
        Ok(status)
    }

    /// Adds the status buffer of the run that made these items, if the run wrote statuses.
    pub(crate) fn with_statuses(mut self, statuses: &Option<Arc<Buffer>>) -> Self {
        self.statuses.extend(statuses.clone());
        self
    }

    /// Adds the status buffers of `others`, because these items were made from them.
    pub(crate) fn made_from<L>(mut self, others: &Items<L, M>) -> Self {
        self.statuses.extend_from_slice(&others.statuses);
        self
    }
}

/// Returns the size in bytes of `batch` items of `size` bytes each, or [`Error::TooLarge`] if that size overflows.
pub(crate) fn bytes_of(batch: usize, size: usize) -> Result<usize> {
    batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit: usize::MAX / size, got: batch })
}

impl<K: ItemKind, M: KemScheme> fmt::Debug for Items<K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items, {}, of {} on {}", self.len(), K::BYTES, M::NAME, self.bytes.device())
    }
}

#[cfg(test)]
mod tests {
    use ringforge::{Device, Limits, Pipeline, Value};

    use super::*;
    use crate::kem_scheme::{Made, Steps};
    use crate::status::tests::OwnError;
    use crate::status::{NOT_REACHED, OK};

    struct Bytes;

    impl KemScheme for Bytes {
        const NAME: &'static str = "bytes";
        type Error = OwnError;
        const SIZES: Sizes = Sizes { public_key: 4, secret_key: 4, ciphertext: 4, shared_key: 4 };

        fn steps(_: &Limits) -> Result<impl Steps> {
            None::<NoSteps>
                .ok_or_else(|| Error::Unsupported { job: "steps".into(), why: "only handles are tested".into() })
        }
    }

    enum NoSteps {}

    impl Steps for NoSteps {
        fn generate<'p>(&self, _: &'p Pipeline, _: Value<'p>, _: Option<Value<'p>>) -> Result<Made<'p, 2>> {
            match *self {}
        }

        fn encapsulate<'p>(&self, _: &'p Pipeline, _: Value<'p>, _: Value<'p>) -> Result<Made<'p, 2>> {
            match *self {}
        }

        fn decapsulate<'p>(&self, _: &'p Pipeline, _: Value<'p>, _: Value<'p>) -> Result<Made<'p, 1>> {
            match *self {}
        }

        fn check_public<'p>(&self, _: &'p Pipeline, _: Value<'p>) -> Result<Option<Value<'p>>> {
            match *self {}
        }

        fn check_secret<'p>(&self, _: &'p Pipeline, _: Value<'p>) -> Result<Option<Value<'p>>> {
            match *self {}
        }
    }

    #[test]
    fn export_needs_statuses() {
        let device = Device::cpu();
        let stream = device.stream().unwrap();
        let shared_keys = |statuses: Buffer| {
            let mut items = SharedKeys::<Bytes>::new(&stream, 2).unwrap();
            stream.write(items.bytes_mut(), &[7u8; 8]).unwrap();
            items.with_statuses(&Some(Arc::new(statuses)))
        };
        // If the status buffer was never written, `export` fails and writes nothing.
        let mut to = [1; 8];
        let status = shared_keys(device.buffer(8).unwrap()).export(&stream, &mut to);
        assert!(matches!(status, Err(Error::Unwritten { .. })), "{status:?}");
        assert_eq!(to, [1; 8]);
        // If only item 1 has an error, `export` zeroes item 1 and copies item 0.
        let statuses = stream.upload(&[OK, NOT_REACHED]).unwrap();
        let status = shared_keys(statuses).export(&stream, &mut to).unwrap();
        assert_eq!((status.errors()[0].item, to), (1, [7, 7, 7, 7, 0, 0, 0, 0]));
    }
}
