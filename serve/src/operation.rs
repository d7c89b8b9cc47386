//! [`Operation`]: what a server does with a batch.

use ringforge::{Device, Result};
use ringforge_batch::{BatchStatus, SchemeError};

/// An operation on batches of items, which a [`Server`](crate::Server) offers to callers with one item each.
///
/// A new operation implements this trait on top of a function that takes whole batches. Those of the schemes are in
/// [`operations`](crate::operations).
pub trait Operation: Send + Sync + 'static {
    /// Errors of single items.
    type Error: SchemeError;

    /// Its name, and the parts of requests and answers.
    fn shape(&self) -> Shape;

    /// The device that runs the operation.
    fn device(&self) -> &Device;

    /// A valid request: its parts. The server measures the operation with it.
    ///
    /// # Errors
    /// Those of the operations that make it, such as key generation.
    fn example(&self) -> Result<Vec<Vec<u8>>>;

    /// Runs a batch. `outputs` has one slice for each part, item after item. Items with an error in the status, and all
    /// items after an `Err`, are not answered with what `outputs` holds.
    ///
    /// # Errors
    /// An error means that no item was processed, and that all may be tried again on another device.
    fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<BatchStatus<Self::Error>>;
}

/// The name of an operation, and the parts of its requests and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The name in metrics and messages.
    pub name: String,
    /// The parts of a request, such as a public key and a message.
    pub inputs: Vec<Part>,
    /// The parts of an answer, of fixed sizes.
    pub outputs: Vec<Part>,
    /// Whether all batches have a power of two of items. A batch of fewer is filled up with its last item.
    pub powers_of_two: bool,
}

impl Shape {
    /// The size of the batch that runs for this many items.
    pub(crate) fn rounded(&self, batch: usize) -> usize {
        if self.powers_of_two { batch.next_power_of_two() } else { batch }
    }
}

/// A part of a request or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Exactly this many bytes, or at most this many if the length varies.
    pub bytes: usize,
    /// Whether the length varies, as that of a message does.
    pub varies: bool,
    /// Whether the part is secret. Its memory is then wiped before it is freed or used for something else.
    pub is_secret: bool,
}

/// Bytes of the length that stands before a part of variable length.
const LENGTH: usize = size_of::<u32>();

impl Part {
    /// A part of this many bytes, which is not secret.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self { bytes, varies: false, is_secret: false }
    }

    /// A part of at most this many bytes, which is not secret.
    #[must_use]
    pub const fn up_to(bytes: usize) -> Self {
        Self { bytes, varies: true, is_secret: false }
    }

    /// The same part, but secret.
    #[must_use]
    pub const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    /// Bytes of a slot for this part.
    pub(crate) const fn slot(self) -> usize {
        if self.varies { LENGTH + self.bytes } else { self.bytes }
    }

    /// Whether a part may have this many bytes.
    pub(crate) const fn fits(self, bytes: usize) -> bool {
        bytes == self.bytes || (self.varies && bytes < self.bytes && bytes <= u32::MAX as usize)
    }

    /// Appends the slot of a part of a fitting size.
    pub(crate) fn put(self, bytes: &[u8], slots: &mut Vec<u8>) {
        let end = slots.len() + self.slot();
        if self.varies {
            slots.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        slots.extend_from_slice(bytes);
        slots.resize(end, 0);
    }
}

/// The requests of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    parts: &'a [Part],
    slots: &'a [&'a [u8]],
    batch: usize,
}

impl<'a> Inputs<'a> {
    /// `slots` holds the slots of each part, item after item.
    pub(crate) fn new(parts: &'a [Part], slots: &'a [&'a [u8]], batch: usize) -> Self {
        Self { parts, slots, batch }
    }

    /// The number of items.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Part number `part` of all items, without gaps. Parts of variable length have none; see [`Inputs::items`].
    #[must_use]
    pub fn bytes(&self, part: usize) -> &'a [u8] {
        debug_assert!(!self.parts[part].varies, "a part of variable length");
        self.slots[part]
    }

    /// Part number `part` of each item.
    pub fn items(&self, part: usize) -> impl Iterator<Item = &'a [u8]> {
        let of = self.parts[part];
        let (slots, size) = (self.slots[part], of.slot());
        (0..self.batch).map(move |i| {
            let slot = &slots[i * size..][..size];
            if !of.varies {
                return slot;
            }
            let (length, bytes) = slot.split_at(LENGTH);
            let length = length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
            &bytes[..length.min(of.bytes)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_parts() {
        let parts = [Part::new(2), Part::up_to(5)];
        let mut slots = [vec![], vec![]];
        for item in [[&b"ab"[..], b"xyz"], [b"cd", b""]] {
            for ((part, slots), bytes) in parts.iter().zip(&mut slots).zip(item) {
                assert!(part.fits(bytes.len()));
                part.put(bytes, slots);
            }
        }
        let slots = slots.each_ref().map(|slots| &slots[..]);
        let inputs = Inputs::new(&parts, &slots, 2);
        assert_eq!(inputs.bytes(0), b"abcd");
        assert_eq!(inputs.items(0).collect::<Vec<_>>(), [b"ab", b"cd"]);
        assert_eq!(inputs.items(1).collect::<Vec<_>>(), [&b"xyz"[..], b""]);
        assert!(!parts[0].fits(1) && !parts[1].fits(6));
    }
}
