//! Items on a device as bytes without gaps, and what is known of how they fared: handles that any scheme may use.

use core::fmt;
use std::sync::Arc;

use ringforge::{Buffer, Error, Result, Stream};

use crate::kem::Resident;
use crate::outcome::{Fault, Outcome};

/// What the statuses tell that a run wrote, one an item.
pub type Reader = fn(&[u32]) -> Vec<Fault>;

/// Items of one kind, item i at i times their size.
pub struct Items {
    stream: Stream,
    bytes: Buffer,
    size: usize,
    /// Faults that were found on the host.
    faults: Vec<Fault>,
    /// Statuses of the runs that these items come from.
    statuses: Vec<(Arc<Buffer>, Reader)>,
}

impl Items {
    /// Items of `size` bytes each that work in this stream's order makes.
    #[must_use]
    pub fn new(stream: &Stream, bytes: Buffer, size: usize) -> Self {
        Self { stream: stream.clone(), bytes, size, faults: Vec::new(), statuses: Vec::new() }
    }

    /// The same with faults that are known by now.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Fault>) -> Self {
        self.faults.extend(faults);
        self
    }

    /// The same with the statuses of the run that makes them.
    #[must_use]
    pub fn with_statuses(mut self, statuses: Buffer, reader: Reader) -> Self {
        self.statuses.push((Arc::new(statuses), reader));
        self
    }

    /// The same with the faults of others, item by item: these were made from them, or with them.
    #[must_use]
    pub fn made_with(mut self, others: &Self) -> Self {
        self.faults.extend(&others.faults);
        self.statuses.extend(others.statuses.iter().cloned());
        self
    }

    /// Their bytes.
    #[must_use]
    pub fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    /// The number of items, if they have this size: handles of one parameter set are no good for another.
    ///
    /// # Errors
    /// [`Error::Length`] otherwise.
    pub fn batch(&self, size: usize) -> Result<usize> {
        if self.size == size {
            Ok(self.len())
        } else {
            Err(Error::Length { what: "bytes of an item of the handle", expected: size, got: self.size })
        }
    }
}

impl Resident for Items {
    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn outcome(&self, stream: &Stream) -> Result<Outcome> {
        let mut faults = self.faults.clone();
        for (statuses, reader) in &self.statuses {
            faults.extend(reader(&stream.download::<u32>(statuses)?));
        }
        Ok(Outcome::new(faults))
    }

    fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<Outcome> {
        stream.read(&self.bytes, to)?;
        let outcome = self.outcome(stream)?;
        for fault in outcome.faults() {
            to[fault.item * self.size..][..self.size].fill(0);
        }
        Ok(outcome)
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items of {} bytes on {}", self.len(), self.size, self.stream.device())
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $handle:ident, secret: $secret:literal;)*) => {$(
        $(#[$doc])*
        pub struct $handle(pub Items);

        impl Resident for $handle {
            fn len(&self) -> usize {
                self.0.len()
            }

            fn outcome(&self, stream: &Stream) -> Result<Outcome> {
                self.0.outcome(stream)
            }

            fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<Outcome> {
                self.0.export(stream, to)
            }
        }

        impl Drop for $handle {
            fn drop(&mut self) {
                if $secret {
                    // nobody is left to hear of a device that no longer answers
                    let _ = self.0.stream.wipe(&mut self.0.bytes);
                }
            }
        }

        impl fmt::Debug for $handle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {} on {}", self.len(), stringify!($handle), self.0.stream.device())
            }
        }
    )*};
}

handles! {
    /// Public keys on a device.
    PublicKeys, secret: false;
    /// Secret keys on a device, wiped when dropped.
    SecretKeys, secret: true;
    /// Ciphertexts on a device.
    Ciphertexts, secret: false;
    /// Shared keys on a device, wiped when dropped.
    SharedKeys, secret: true;
}
