//! [`Messages`]: the messages of a batch of signatures.

use core::ops::Range;

use ringforge::{Error, Result};

/// The messages of a batch, of any lengths, and the context in which they are signed: by FIPS 204, a byte 0, the length
/// of the context, and the context stand before each message.
///
/// Messages may be [digests](Messages::of_digests) instead. A byte 1, the length of the context, the context, and the
/// object identifier of the hash function then stand before each digest.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    messages: Vec<&'a [u8]>,
    /// The bytes before each message.
    prefix: Vec<u8>,
}

/// A hash function of NIST, for signatures of digests: the pre-hash variants of FIPS 204, section 5.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PreHash {
    /// SHA-256, digests of 32 bytes.
    Sha256,
    /// SHA-384, digests of 48 bytes.
    Sha384,
    /// SHA-512, digests of 64 bytes.
    Sha512,
    /// SHA-512/256, digests of 32 bytes.
    Sha512_256,
    /// SHA3-256, digests of 32 bytes.
    Sha3_256,
    /// SHA3-384, digests of 48 bytes.
    Sha3_384,
    /// SHA3-512, digests of 64 bytes.
    Sha3_512,
    /// SHAKE-128, digests of 32 bytes.
    Shake128,
    /// SHAKE-256, digests of 64 bytes.
    Shake256,
}

impl PreHash {
    /// Bytes of a digest.
    #[must_use]
    pub const fn digest(self) -> usize {
        match self {
            Self::Sha256 | Self::Sha512_256 | Self::Sha3_256 | Self::Shake128 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Sha512 | Self::Sha3_512 | Self::Shake256 => 64,
        }
    }

    /// The object identifier in DER: 2.16.840.1.101.3.4.2 and a number.
    const fn identifier(self) -> [u8; 11] {
        let number = match self {
            Self::Sha256 => 1,
            Self::Sha384 => 2,
            Self::Sha512 => 3,
            Self::Sha512_256 => 6,
            Self::Sha3_256 => 8,
            Self::Sha3_384 => 9,
            Self::Sha3_512 => 10,
            Self::Shake128 => 11,
            Self::Shake256 => 12,
        };
        [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, number]
    }
}

impl<'a> Messages<'a> {
    /// The longest context, in bytes.
    pub const MOST_CONTEXT: usize = 255;

    /// These messages, in an empty context.
    #[must_use]
    pub fn new<B: AsRef<[u8]> + ?Sized>(messages: &[&'a B]) -> Self {
        Self::of(messages.iter().map(|message| (*message).as_ref()).collect(), None)
    }

    /// Digests of messages by this hash function, in an empty context. A signature of a digest is not a signature of the
    /// message: both sides must use this variant.
    ///
    /// # Errors
    /// [`Error::Length`] for a digest of another length than [`PreHash::digest`].
    pub fn of_digests<B: AsRef<[u8]> + ?Sized>(hash: PreHash, digests: &[&'a B]) -> Result<Self> {
        let digests: Vec<&[u8]> = digests.iter().map(|digest| (*digest).as_ref()).collect();
        match digests.iter().find(|digest| digest.len() != hash.digest()) {
            Some(digest) => {
                Err(Error::Length { what: "bytes of a digest", expected: hash.digest(), got: digest.len() })
            }
            None => Ok(Self::of(digests, Some(hash))),
        }
    }

    fn of(messages: Vec<&'a [u8]>, hash: Option<PreHash>) -> Self {
        let mut prefix = vec![u8::from(hash.is_some()), 0];
        prefix.extend(hash.into_iter().flat_map(PreHash::identifier));
        Self { messages, prefix }
    }

    /// The same messages in this context.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the context has more than [`Messages::MOST_CONTEXT`] bytes.
    pub fn with_context(mut self, context: &[u8]) -> Result<Self> {
        let Ok(length) = u8::try_from(context.len()) else {
            return Err(Error::TooLarge { what: "the context", limit: Self::MOST_CONTEXT, got: context.len() });
        };
        // between the length of the context before, and the identifier of a hash function
        let old = 2..2 + usize::from(self.prefix[1]);
        self.prefix.splice(old, context.iter().copied());
        self.prefix[1] = length;
        Ok(self)
    }

    /// The number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns true if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Some of the messages.
    pub(crate) fn range(&self, numbers: Range<usize>) -> Self {
        Self { messages: self.messages[numbers].to_vec(), prefix: self.prefix.clone() }
    }

    /// The messages by the size of their slots, in ascending order: the size, and the numbers of the messages.
    pub(crate) fn by_slot(&self) -> Vec<(usize, Vec<usize>)> {
        let mut sized: Vec<(usize, usize)> =
            self.messages.iter().enumerate().map(|(i, message)| (self.slot_of(message), i)).collect();
        sized.sort_by_key(|(slot, _)| *slot); // fast if all are the same
        sized.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.iter().map(|(_, i)| *i).collect())).collect()
    }

    /// The slots of these messages, `slot` bytes each.
    pub(crate) fn slots(&self, slot: usize, numbers: &[usize]) -> Vec<u8> {
        let mut slots = vec![0; slot * numbers.len()];
        for (out, &number) in slots.chunks_exact_mut(slot).zip(numbers) {
            let message = self.messages[number];
            let (length, out) = out.split_at_mut(LENGTH);
            length.copy_from_slice(&((self.prefix.len() + message.len()) as u64).to_le_bytes());
            let (prefix, out) = out.split_at_mut(self.prefix.len());
            prefix.copy_from_slice(&self.prefix);
            out[..message.len()].copy_from_slice(message);
        }
        slots
    }

    /// Bytes of a message's slot: a power of two, so that messages of similar lengths share a program.
    fn slot_of(&self, message: &[u8]) -> usize {
        (LENGTH + self.prefix.len() + message.len()).next_power_of_two().max(SMALLEST)
    }
}

/// Bytes of the length in a slot.
const LENGTH: usize = size_of::<u64>();
/// The smallest slot, in bytes.
const SMALLEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_length_prefix_and_message() {
        let long = [7; 100];
        let messages = Messages::new(&[&b"ab"[..], &long, b""]).with_context(b"c").unwrap();
        assert_eq!(messages.by_slot(), [(64, vec![0, 2]), (128, vec![1])]);
        let slots = messages.slots(64, &[0, 2]);
        assert_eq!(slots[..14], [5, 0, 0, 0, 0, 0, 0, 0, 0, 1, b'c', b'a', b'b', 0]);
        assert_eq!((slots[64], slots[64 + 9], &slots[64 + 11..]), (3, 1, &[0; 53][..]));
        assert!(Messages::new(&[b"a"]).with_context(&[0; 256]).is_err());
    }

    #[test]
    fn digests_have_the_identifier_of_their_hash() {
        let digest = [7; 48];
        let digests = Messages::of_digests(PreHash::Sha3_384, &[&digest]).unwrap();
        let oid = [6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 9];
        assert_eq!(digests.prefix, [&[1, 0][..], &oid].concat());
        let digests = digests.with_context(b"first").unwrap().with_context(b"ab").unwrap();
        assert_eq!(digests.prefix, [&[1, 2, b'a', b'b'][..], &oid].concat());
        assert!(Messages::of_digests(PreHash::Sha256, &[&digest]).is_err());
    }
}
