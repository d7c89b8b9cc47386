//! How the items of a batch fared.

use ringforge::Header;

/// What is wrong with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The seed leads to a polynomial without an inverse, and so to no key.
    #[error("the seed gives no key: its polynomial has no inverse")]
    NotInvertible,
    /// A public key, also one within a secret key, is not as key generation makes them.
    #[error("coefficient {coefficient} of the public key is not below the modulus")]
    InvalidPublicKey {
        /// The first such coefficient.
        coefficient: usize,
    },
    /// A secret key is not as key generation makes them.
    #[error("coefficient {coefficient} of the secret key is out of range")]
    InvalidSecretKey {
        /// The first such coefficient.
        coefficient: usize,
    },
    /// A secret key does not have the hash of the public key within it.
    #[error("the secret key does not have its public key's hash")]
    WrongHash,
    /// A private scalar is out of range.
    #[error("the private key is out of range")]
    PrivateKeyRange,
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
    /// No kernel came to the item, or not all that must.
    #[error("no kernel has finished the item")]
    NotReached,
    /// The status is a word that no kernel should write.
    #[error("{status:#010x} is no status of an item")]
    Unknown {
        /// The word.
        status: u32,
    },
}

/// Bits of a status that say which reason it is; above them is the coefficient.
const REASON_BITS: u32 = 8;

impl Reason {
    /// The status of an item that is fine: a word that nothing holds by accident.
    pub const FINE: u32 = 0x600d_f17e;
    /// The status of an item that is fine so far, where a later step has the last word. One that is left with it was not
    /// reached by that step.
    pub const PENDING: u32 = 0x9e2d_126a;
    /// The same after a second step, where a third one has the last word.
    pub const HALFWAY: u32 = 0x3b75_d8c4;
    /// The status of an item before the first step, from the engine.
    pub const NOT_REACHED: u32 = 0;

    /// The status of an item, as kernels write it (`kem_status.cuh`, `sm2.cuh`): [`Reason::FINE`], or what is wrong.
    #[must_use]
    pub const fn status(found: Option<Self>) -> u32 {
        let (reason, coefficient) = match found {
            None => return Self::FINE,
            Some(Self::NotReached) => return Self::NOT_REACHED,
            Some(Self::Unknown { status }) => return status,
            Some(Self::NotInvertible) => (1, 0),
            Some(Self::InvalidPublicKey { coefficient }) => (2, coefficient),
            Some(Self::InvalidSecretKey { coefficient }) => (3, coefficient),
            Some(Self::WrongHash) => (4, 0),
            Some(Self::PrivateKeyRange) => (5, 0),
            Some(Self::PublicKeyPoint) => (6, 0),
            Some(Self::NonceRefused) => (7, 0),
            Some(Self::SignatureRange) => (8, 0),
            Some(Self::SignatureWrong) => (9, 0),
        };
        reason | (coefficient as u32) << REASON_BITS
    }

    /// The faults that these statuses tell of, one status an item.
    #[must_use]
    pub fn faults(statuses: &[u32]) -> Vec<Fault> {
        let fault = |(item, &status): (usize, &u32)| Some(Fault { item, why: Self::of(status)? });
        statuses.iter().enumerate().filter_map(fault).collect()
    }

    /// What a status tells of; none if the item is fine, which is one word of all.
    fn of(status: u32) -> Option<Self> {
        let coefficient = (status >> REASON_BITS) as usize;
        Some(match (status & ((1 << REASON_BITS) - 1), coefficient) {
            _ if status == Self::FINE => return None,
            _ if [Self::NOT_REACHED, Self::PENDING, Self::HALFWAY].contains(&status) => Self::NotReached,
            (1, 0) => Self::NotInvertible,
            (2, _) => Self::InvalidPublicKey { coefficient },
            (3, _) => Self::InvalidSecretKey { coefficient },
            (4, 0) => Self::WrongHash,
            (5, 0) => Self::PrivateKeyRange,
            (6, 0) => Self::PublicKeyPoint,
            (7, 0) => Self::NonceRefused,
            (8, 0) => Self::SignatureRange,
            (9, 0) => Self::SignatureWrong,
            _ => Self::Unknown { status },
        })
    }
}

/// The text for kernels that write statuses.
pub const STATUS: Header = Header { name: "kem_status.cuh", text: include_str!("kem_status.cuh") };

/// An item that came to nothing: its outputs are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("item {item}: {why}")]
pub struct Fault {
    /// The item's number in the batch, from 0.
    pub item: usize,
    /// What is wrong with it.
    pub why: Reason,
}

/// How the items of a batch fared: all well, but for those that are listed. A rejected ciphertext is no fault: by
/// design nobody learns of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "items may have come to nothing: see `all` and `faults`"]
pub struct Outcome {
    faults: Vec<Fault>,
}

impl Outcome {
    /// All items fared well but for these, in any order. Of several faults of an item, the first one counts.
    pub fn new(mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.item);
        faults.dedup_by_key(|fault| fault.item);
        Self { faults }
    }

    /// The faults, one an item, by ascending item.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Makes items with faults zero, in bytes of items of this size.
    pub(crate) fn clear(&self, bytes: &mut [u8], size: usize) {
        self.faults.iter().for_each(|fault| bytes[fault.item * size..][..size].fill(0));
    }

    /// Whether all items fared well, for callers who accept nothing less.
    ///
    /// # Errors
    /// The first [`Fault`].
    pub fn all(&self) -> Result<(), Fault> {
        self.faults.first().map_or(Ok(()), |fault| Err(*fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_tell_reasons() {
        let reasons = [
            None,
            Some(Reason::NotInvertible),
            Some(Reason::InvalidPublicKey { coefficient: 0 }),
            Some(Reason::InvalidSecretKey { coefficient: 1276 }),
            Some(Reason::WrongHash),
            Some(Reason::SignatureWrong),
            Some(Reason::NotReached),
            Some(Reason::Unknown { status: 255 }),
        ];
        let told = Reason::faults(&reasons.map(Reason::status));
        let faults = reasons.iter().enumerate().filter_map(|(item, why)| Some(Fault { item, why: (*why)? }));
        assert_eq!(told, faults.collect::<Vec<_>>());
    }

    #[test]
    fn only_one_word_is_fine() {
        let fault = |status| Reason::faults(&[status]).first().map(|fault| fault.why);
        assert_eq!(fault(Reason::FINE), None);
        assert_eq!(fault(0), Some(Reason::NotReached), "what memory holds at first");
        for status in [Reason::PENDING, Reason::HALFWAY] {
            assert_eq!(fault(status), Some(Reason::NotReached), "what an earlier step leaves");
        }
        let others =
            (0..32).map(|bit| Reason::FINE ^ 1 << bit).chain([10, 255, 0x104, 0x1_0001, u32::MAX, 0xa5a5_a5a5]);
        others.for_each(|status| assert_eq!(fault(status), Some(Reason::Unknown { status }), "{status:#x}"));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(Outcome::default().all(), Ok(()));
        let second = Fault { item: 7, why: Reason::NotInvertible };
        let first = Fault { item: 2, why: Reason::InvalidPublicKey { coefficient: 9 } };
        let hidden = Fault { item: 7, why: Reason::InvalidSecretKey { coefficient: 0 } };
        let outcome = Outcome::new(vec![second, first, hidden]);
        assert_eq!(outcome.faults(), [first, second]);
        assert_eq!(outcome.all(), Err(first));
        assert_eq!(first.to_string(), "item 2: coefficient 9 of the public key is not below the modulus");
    }
}
