//! Items on a device: their bytes without gaps, and the statuses of what they were made from.

use core::fmt;
use std::sync::Arc;

use ringforge::{Buffer, Error, Result, Stream};
use ringforge_batch::{Fault, Outcome, Reason, Resident, Sizes};

use crate::kernels::{FINE, WRONG_HASH};

/// What errors call a kind of items, and whether it is wiped when dropped.
const KINDS: [(&str, bool); 4] = [
    ("bytes of public keys", false),
    ("bytes of secret keys", true),
    ("bytes of ciphertexts", false),
    ("bytes of shared keys", true),
];

/// Public keys on a device.
pub type PublicKeys = Items<0>;
/// Secret keys on a device, wiped when dropped.
pub type SecretKeys = Items<1>;
/// Ciphertexts on a device.
pub type Ciphertexts = Items<2>;
/// Shared keys on a device, wiped when dropped.
pub type SharedKeys = Items<3>;

/// Items of one kind on a device.
pub struct Items<const KIND: usize> {
    stream: Stream,
    pub(crate) bytes: Buffer,
    size: usize,
    pub(crate) statuses: Vec<Arc<Buffer>>,
}

impl<const KIND: usize> Items<KIND> {
    pub(crate) const NAME: &'static str = KINDS[KIND].0;

    /// Bytes of an item.
    pub(crate) fn size(sizes: &Sizes) -> usize {
        [sizes.public_key, sizes.secret_key, sizes.ciphertext, sizes.shared_key][KIND]
    }

    /// Room for new items, made from some with these statuses.
    pub(crate) fn new(stream: &Stream, sizes: &Sizes, batch: usize, statuses: Vec<Arc<Buffer>>) -> Result<Self> {
        let size = Self::size(sizes);
        let limit = usize::MAX / size;
        let bytes = batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit, got: batch })?;
        Ok(Self { stream: stream.clone(), bytes: stream.device().buffer(bytes)?, size, statuses })
    }

    /// The number of items, if they are of a set with these sizes.
    pub(crate) fn batch(&self, sizes: &Sizes) -> Result<usize> {
        let (expected, got) = (Self::size(sizes), self.size);
        if got == expected { Ok(self.len()) } else { Err(Error::Length { what: Self::NAME, expected, got }) }
    }
}

impl<const KIND: usize> Resident for Items<KIND> {
    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn outcome(&self, stream: &Stream) -> Result<Outcome> {
        let statuses = self.statuses.iter().map(|statuses| stream.download::<u32>(statuses));
        let faults = statuses.map(|statuses| Ok(faults(&statuses?))).collect::<Result<Vec<_>>>()?;
        Ok(Outcome::new(faults.concat()))
    }

    fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<Outcome> {
        stream.read(&self.bytes, to)?;
        let outcome = self.outcome(stream)?;
        clear(&outcome, to, self.size);
        Ok(outcome)
    }
}

impl<const KIND: usize> Drop for Items<KIND> {
    fn drop(&mut self) {
        if KINDS[KIND].1 {
            // nobody is left to hear of a device that no longer answers
            let _ = self.stream.wipe(&mut self.bytes);
        }
    }
}

impl<const KIND: usize> fmt::Debug for Items<KIND> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} times {} {} on {}", self.len(), self.size, Self::NAME, self.stream.device())
    }
}

/// The faults that these statuses tell of.
pub(crate) fn faults(statuses: &[u32]) -> Vec<Fault> {
    let faulty = statuses.iter().enumerate().filter(|(_, status)| **status != FINE);
    let why = |status| match status {
        WRONG_HASH => Reason::InvalidSecretKey { coefficient: 0 },
        place => Reason::InvalidPublicKey { coefficient: place as usize - 1 },
    };
    faulty.map(|(item, &status)| Fault { item, why: why(status) }).collect()
}

/// Makes items with faults zero.
pub(crate) fn clear(outcome: &Outcome, bytes: &mut [u8], size: usize) {
    outcome.faults().iter().for_each(|fault| bytes[fault.item * size..][..size].fill(0));
}
