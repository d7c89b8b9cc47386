//! [`Messages`]: the messages of a batch of signatures.

use core::ops::Range;

use ringforge::{Error, Result};

/// The messages of a batch, of any lengths, and the context in which they are signed: by FIPS 204, a byte 0, the length
/// of the context, and the context stand before each message.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    messages: Vec<&'a [u8]>,
    prefix: Vec<u8>,
}

impl<'a> Messages<'a> {
    /// The longest context, in bytes.
    pub const MOST_CONTEXT: usize = 255;

    /// These messages, in an empty context.
    #[must_use]
    pub fn new<B: AsRef<[u8]> + ?Sized>(messages: &[&'a B]) -> Self {
        Self { messages: messages.iter().map(|message| (*message).as_ref()).collect(), prefix: vec![0, 0] }
    }

    /// The same messages in this context.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the context has more than [`Messages::MOST_CONTEXT`] bytes.
    pub fn with_context(mut self, context: &[u8]) -> Result<Self> {
        let Ok(length) = u8::try_from(context.len()) else {
            return Err(Error::TooLarge { what: "the context", limit: Self::MOST_CONTEXT, got: context.len() });
        };
        self.prefix = [&[0, length], context].concat();
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
}
