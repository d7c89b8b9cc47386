//! Items on a device: their bytes, contiguous, and the statuses of the runs that made them.

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use ringforge::{Buffer, Error, Result, Stream};

use crate::kem_scheme::KemScheme;
use crate::sizes::Sizes;
use crate::status::BatchStatus;

/// Handle to items of one kind and one KEM on a device, made by a [`Batch`](crate::Batch). Secret items are wiped on
/// drop.
///
/// The work that produces the items may still be running. Any function that takes the handle, on any stream, waits as
/// needed.
pub struct Items<K, M> {
    pub(crate) bytes: Buffer,
    /// Statuses of the runs that produced these items.
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

/// A kind of items.
pub trait Kind {
    /// Name of the items' bytes in error messages.
    const BYTES: &'static str;
    /// Whether the items are wiped on drop.
    const SECRET: bool;

    /// Bytes per item.
    fn size(sizes: &Sizes) -> usize;
}

/// The kinds of items.
pub mod kinds {
    use super::{Kind, Sizes};

    macro_rules! kinds {
        ($($(#[$doc:meta])* $kind:ident: $size:ident, $bytes:literal, secret: $secret:literal;)*) => {$(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $kind {}

            impl Kind for $kind {
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

impl<K: Kind, M: KemScheme> Items<K, M> {
    /// Allocates memory for `batch` new items. For schemes with plans other than those of their [`KemScheme`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size in bytes overflows; [`Error::OutOfMemory`].
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

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items' bytes.
    #[must_use]
    pub fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    /// The items' bytes, for a plan to write. The caller must wipe any copy of secret bytes.
    pub fn bytes_mut(&mut self) -> &mut Buffer {
        &mut self.bytes
    }

    /// Waits for the work that produces the items and returns their status, including errors of the items they were
    /// made from.
    ///
    /// # Errors
    /// [`Error::Driver`]; [`Error::ForeignDevice`].
    pub fn status(&self, stream: &Stream) -> Result<BatchStatus<M::Error>> {
        let mut errors = Vec::new();
        for statuses in &self.statuses {
            errors.extend_from_slice(BatchStatus::of(&stream.download(statuses)?).errors());
        }
        Ok(BatchStatus::new(errors))
    }

    /// Waits for the items, copies them to `to`, contiguous, and returns their status. Items with an error are zeroed.
    ///
    /// # Errors
    /// [`Error::Length`] unless `to` has the size of all items; otherwise as [`Items::status`].
    pub fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<BatchStatus<M::Error>> {
        // The status is read first: bytes of unknown status must not leave the device.
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

    /// Adds the statuses of the run that made the items.
    pub(crate) fn with_statuses(mut self, statuses: &Option<Arc<Buffer>>) -> Self {
        self.statuses.extend(statuses.clone());
        self
    }

    /// Adds the statuses of the items that these were made from.
    pub(crate) fn made_from<L>(mut self, others: &Items<L, M>) -> Self {
        self.statuses.extend_from_slice(&others.statuses);
        self
    }
}

/// Bytes of `batch` items of `size` bytes each.
pub(crate) fn bytes_of(batch: usize, size: usize) -> Result<usize> {
    batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit: usize::MAX / size, got: batch })
}

impl<K: Kind, M: KemScheme> fmt::Debug for Items<K, M> {
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
        // Statuses that cannot be read.
        let mut to = [1; 8];
        let status = shared_keys(device.buffer(8).unwrap()).export(&stream, &mut to);
        assert!(matches!(status, Err(Error::Unwritten { .. })), "{status:?}");
        assert_eq!(to, [1; 8]);
        // An item with an error.
        let statuses = stream.upload(&[OK, NOT_REACHED]).unwrap();
        let status = shared_keys(statuses).export(&stream, &mut to).unwrap();
        assert_eq!((status.errors()[0].item, to), (1, [7, 7, 7, 7, 0, 0, 0, 0]));
    }
}
