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
}

/// Bits of a status that say which reason it is; above them is the coefficient.
const REASON_BITS: u32 = 8;

impl Reason {
    /// The status of an item, as kernels write it (`kem_status.cuh`, `sm2.cuh`): 0 if it is fine.
    #[must_use]
    pub const fn status(found: Option<Self>) -> u32 {
        let (reason, coefficient) = match found {
            None => (0, 0),
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
        let fault = |(item, &status): (usize, &u32)| {
            let coefficient = (status >> REASON_BITS) as usize;
            let why = match status & ((1 << REASON_BITS) - 1) {
                0 => return None,
                1 => Self::NotInvertible,
                2 => Self::InvalidPublicKey { coefficient },
                3 => Self::InvalidSecretKey { coefficient },
                4 => Self::WrongHash,
                5 => Self::PrivateKeyRange,
                6 => Self::PublicKeyPoint,
                7 => Self::NonceRefused,
                8 => Self::SignatureRange,
                _ => Self::SignatureWrong,
            };
            Some(Fault { item, why })
        };
        statuses.iter().enumerate().filter_map(fault).collect()
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
        ];
        let told = Reason::faults(&reasons.map(Reason::status));
        let faults = reasons.iter().enumerate().filter_map(|(item, why)| Some(Fault { item, why: (*why)? }));
        assert_eq!(told, faults.collect::<Vec<_>>());
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
