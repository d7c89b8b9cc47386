//! Items on a device: their bytes, without gaps, and what is known of how they fared.

use core::any::TypeId;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use ringforge::{Buffer, Error, Result, Stream};

use crate::kem::Resident;
use crate::kem_scheme::KemScheme;
use crate::sizes::Sizes;
use crate::status::{BatchStatus, SchemeError};

/// Items of one kind on a device, wiped when dropped if they are secret.
pub struct Items<K: Kind, E> {
    pub(crate) bytes: Buffer,
    /// The mechanism, and its name.
    mechanism: (TypeId, &'static str),
    /// Bytes of an item.
    size: usize,
    /// Statuses of the runs that these items come from.
    statuses: Vec<Arc<Buffer>>,
    kind: PhantomData<fn() -> (K, E)>,
}

/// Public keys on a device.
pub type PublicKeys<E> = Items<kinds::PublicKey, E>;
/// Secret keys on a device, wiped when dropped.
pub type SecretKeys<E> = Items<kinds::SecretKey, E>;
/// Ciphertexts on a device.
pub type Ciphertexts<E> = Items<kinds::Ciphertext, E>;
/// Shared keys on a device, wiped when dropped.
pub type SharedKeys<E> = Items<kinds::SharedKey, E>;

/// A kind of items.
pub trait Kind: sealed::Sealed {
    /// What errors call their bytes.
    const BYTES: &'static str;
    /// Whether they are wiped when dropped.
    const SECRET: bool;

    /// Bytes of an item.
    fn size(sizes: &Sizes) -> usize;
}

mod sealed {
    pub trait Sealed {}
}

/// The kinds of items.
pub mod kinds {
    use super::sealed::Sealed;
    use super::{Kind, Sizes};

    macro_rules! kinds {
        ($($(#[$doc:meta])* $kind:ident: $size:ident, $bytes:literal, secret: $secret:literal;)*) => {$(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $kind {}

            impl Sealed for $kind {}

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

impl<K: Kind, E: SchemeError> Items<K, E> {
    /// Room for new items, for schemes with plans beside those of their [`KemScheme`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they cannot be addressed; [`Error::OutOfMemory`].
    pub fn new<M: KemScheme<Error = E>>(stream: &Stream, batch: usize) -> Result<Self> {
        let (mechanism, size) = ((TypeId::of::<M>(), M::NAME), K::size(&M::SIZES));
        let bytes = bytes_of(batch, size)?;
        let bytes = if K::SECRET { stream.secret_buffer(bytes) } else { stream.device().buffer(bytes) }?;
        Ok(Self { bytes, mechanism, size, statuses: Vec::new(), kind: PhantomData })
    }

    /// Their bytes, for a plan to write. A copy of secret ones is the caller's to wipe.
    pub fn bytes_mut(&mut self) -> &mut Buffer {
        &mut self.bytes
    }

    /// The same, made by a run with these statuses.
    pub(crate) fn with_statuses(mut self, statuses: &Option<Arc<Buffer>>) -> Self {
        self.statuses.extend(statuses.clone());
        self
    }

    /// The same, made from others, whose errors are theirs too.
    pub(crate) fn made_from<L: Kind>(mut self, others: &Items<L, E>) -> Self {
        self.statuses.extend_from_slice(&others.statuses);
        self
    }

    /// The number of items, if they are of this mechanism.
    pub(crate) fn batch<M: KemScheme>(&self) -> Result<usize> {
        let (mechanism, got) = self.mechanism;
        if mechanism == TypeId::of::<M>() {
            return Ok(self.len());
        }
        let what = format!("{} on a device", K::BYTES);
        Err(Error::Mismatch { what, expected: M::NAME.into(), got: got.into() })
    }
}

/// Bytes of so many items.
pub(crate) fn bytes_of(batch: usize, size: usize) -> Result<usize> {
    batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit: usize::MAX / size, got: batch })
}

impl<K: Kind, E: SchemeError> Resident for Items<K, E> {
    type Error = E;

    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn status(&self, stream: &Stream) -> Result<BatchStatus<E>> {
        let mut errors = Vec::new();
        for statuses in &self.statuses {
            errors.extend_from_slice(BatchStatus::of(&stream.download(statuses)?).errors());
        }
        Ok(BatchStatus::new(errors))
    }

    fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<BatchStatus<E>> {
        // first of all: bytes of which nobody can tell how they fared stay where they are
        let status = self.status(stream)?;
        match stream.read(&self.bytes, to) {
            Ok(()) => status.clear(to, self.size),
            Err(error) => {
                to.fill(0);
                return Err(error);
            }
        }
        Ok(status)
    }
}

impl<K: Kind, E: SchemeError> fmt::Debug for Items<K, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items, {}, of {} on {}", self.len(), K::BYTES, self.mechanism.1, self.bytes.device())
    }
}

#[cfg(test)]
mod tests {
    use ringforge::{Device, Pipeline, Value};

    use super::*;
    use crate::kem_scheme::{Made, Steps};
    use crate::status::tests::OwnError;
    use crate::status::{FINE, NOT_REACHED};

    struct Bytes;

    impl KemScheme for Bytes {
        const NAME: &'static str = "bytes";
        type Error = OwnError;
        const SIZES: Sizes = Sizes { public_key: 4, secret_key: 4, ciphertext: 4, shared_key: 4 };

        fn steps() -> Result<impl Steps> {
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
    fn nothing_leaves_before_it_is_known_how_it_fared() {
        let device = Device::cpu();
        let stream = device.stream().unwrap();
        let shared_keys = |statuses: Buffer| {
            let mut items = SharedKeys::new::<Bytes>(&stream, 2).unwrap();
            stream.write(items.bytes_mut(), &[7u8; 8]).unwrap();
            items.with_statuses(&Some(Arc::new(statuses)))
        };
        // statuses that cannot be read
        let mut to = [1; 8];
        let status = shared_keys(device.buffer(8).unwrap()).export(&stream, &mut to);
        assert!(matches!(status, Err(Error::Unwritten { .. })), "{status:?}");
        assert_eq!(to, [1; 8]);
        // an item with an error
        let statuses = stream.upload(&[FINE, NOT_REACHED]).unwrap();
        let status = shared_keys(statuses).export(&stream, &mut to).unwrap();
        assert_eq!((status.errors()[0].item, to), (1, [7, 7, 7, 7, 0, 0, 0, 0]));
    }
}
