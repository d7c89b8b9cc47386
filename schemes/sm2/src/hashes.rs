//! Batch hashing on any device: Z_A of public keys, and the digests e of messages, which are then signed or verified.

use ringforge::{Buffer, Engine, Error, Program, Result, Stream};
use ringforge_batch::batch_of;

use crate::kernels::WORD;
use crate::params::MAX_ID_BYTES;
use crate::plans::{Operation, Plans, Programs};
use crate::windows::Mode;

/// Computes the identity hashes Z_A of public keys and their owners' identifiers on a device, for [`Digests`].
/// [`Identity`](crate::Identity) is the CPU version for one key.
///
/// Identifiers are passed in slots of equal size. Identifier i is the first `lengths[i]` bytes of slot i; lengths above
/// the slot size or [`MAX_ID_BYTES`] are clamped. There is one identifier per key, or one for all keys. Keys are not
/// checked: verification reports invalid ones.
///
/// ```
/// use ringforge::Engine;
/// use ringforge_sm2::{DEFAULT_ID, Digests, Identities, Identity, PrivateKey};
///
/// let engine = Engine::best(); // a CUDA GPU where there is one, else the CPU
/// let keys = [5, 6].map(|d| *PrivateKey::from_bytes(&[d; 32]).expect("in range").public_key());
/// let (mut identities, mut digests) = ([0; 64], [0; 64]);
/// Identities::new(&engine, 16)?.identify(DEFAULT_ID, &[16], &keys.map(|key| key.to_bytes()).concat(), &mut identities)?;
/// Digests::new(&engine, 4)?.digest(&identities, b"messages", &[4, 4], &mut digests)?;
/// assert_eq!(digests[32..], Identity::new(&keys[1], DEFAULT_ID)?.digest(b"ages"));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug)]
pub struct Identities([Program; 2]);

/// Computes the digests e = SM3(Z_A ‖ message) on a device, for [`Signer`](crate::Signer) and
/// [`Verifier`](crate::Verifier).
///
/// Messages are passed in slots of equal size. Message i is the first `lengths[i]` bytes of slot i; lengths above the
/// slot size are clamped. There is one Z_A of 32 bytes per message, or one for all messages. [`Identities`] computes
/// Z_A on the device, [`Identity`](crate::Identity) computes a single Z_A on the CPU.
#[derive(Debug)]
pub struct Digests([Program; 2]);

impl Identities {
    /// Compiles the programs for identifiers of up to `slot` bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `slot` is a multiple of 4 from 4 to 2^13. The errors of [`Engine::program_of`] if
    /// a program cannot be planned or compiled.
    pub fn new(engine: &Engine, slot: usize) -> Result<Self> {
        let operation = |words, one_id| Operation::Identity { words, one_id };
        of_slots(engine, "identifiers", slot, MAX_ID_BYTES + 1, operation).map(Self)
    }

    /// Computes Z_A (32 bytes) of each public key (64 bytes x ‖ y).
    ///
    /// # Errors
    /// [`Error::Length`] unless the length of `identities` is a multiple of 32. [`Error::ArgumentSize`] unless there is
    /// one key per identity, and one slot and one length per identity or a single one for all. [`Error::OutOfMemory`]
    /// if device memory runs out; [`Error::Driver`] if a driver call fails.
    pub fn identify(&self, ids: &[u8], lengths: &[u32], public_keys: &[u8], identities: &mut [u8]) -> Result<()> {
        let batch = batch_of("bytes of identities", identities.len(), WORD)?;
        let call =
            self.0[usize::from(lengths.len() == 1)].on_host(batch).input("identifiers", ids).input("lengths", lengths);
        call.input("public keys", public_keys).output("identities", identities).run()
    }

    /// Like [`Identities::identify`], on buffers in device memory, in stream order. Lengths are 32-bit words.
    ///
    /// # Errors
    /// As [`Identities::identify`]. [`Error::ForeignDevice`] if `stream` or a buffer is on another device;
    /// [`Error::Unwritten`] if nothing was written to an input.
    pub fn identify_on(
        &self,
        stream: &Stream,
        ids: &Buffer,
        lengths: &Buffer,
        public_keys: &Buffer,
        identities: &mut Buffer,
    ) -> Result<()> {
        let batch = batch_of("bytes of identities", identities.len(), WORD)?;
        let call = self.0[usize::from(lengths.len() == size_of::<u32>())].on(stream, batch);
        let call = call.input("identifiers", ids).input("lengths", lengths).input("public keys", public_keys);
        call.output("identities", identities).run()
    }
}

impl Digests {
    /// Compiles the programs for messages of up to `slot` bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `slot` is a multiple of 4 from 4 to 2^20. The errors of [`Engine::program_of`] if
    /// a program cannot be planned or compiled.
    pub fn new(engine: &Engine, slot: usize) -> Result<Self> {
        let operation = |words, one_identity| Operation::Digest { words, one_identity };
        of_slots(engine, "messages", slot, 1 << 20, operation).map(Self)
    }

    /// Computes the digest e (32 bytes) of each message.
    ///
    /// # Errors
    /// [`Error::Length`] unless the length of `digests` is a multiple of 32. [`Error::ArgumentSize`] unless there is
    /// one slot and one length per digest, and one identity per digest or a single one for all. [`Error::OutOfMemory`]
    /// if device memory runs out; [`Error::Driver`] if a driver call fails.
    pub fn digest(&self, identities: &[u8], messages: &[u8], lengths: &[u32], digests: &mut [u8]) -> Result<()> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let call = self.0[usize::from(identities.len() == WORD)].on_host(batch).input("identities", identities);
        call.input("messages", messages).input("lengths", lengths).output("digests", digests).run()
    }

    /// Like [`Digests::digest`], on buffers in device memory, in stream order. Lengths are 32-bit words.
    ///
    /// # Errors
    /// As [`Digests::digest`]. [`Error::ForeignDevice`] if `stream` or a buffer is on another device;
    /// [`Error::Unwritten`] if nothing was written to an input.
    pub fn digest_on(
        &self,
        stream: &Stream,
        identities: &Buffer,
        messages: &Buffer,
        lengths: &Buffer,
        digests: &mut Buffer,
    ) -> Result<()> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let call = self.0[usize::from(identities.len() == WORD)].on(stream, batch).input("identities", identities);
        call.input("messages", messages).input("lengths", lengths).output("digests", digests).run()
    }
}

/// Compiles two programs for slots of `slot` bytes. In the first program every item has its own identifier (or Z_A); in
/// the second, all items share one. Returns [`Error::Unsupported`] unless `slot` is a multiple of 4 from 4 to
/// `longest`.
fn of_slots(
    engine: &Engine,
    what: &str,
    slot: usize,
    longest: usize,
    operation: impl Fn(usize, bool) -> Operation,
) -> Result<[Program; 2]> {
    if !slot.is_multiple_of(4) || !(4..=longest).contains(&slot) {
        return Err(Error::Unsupported {
            job: format!("hashing {what} in slots of {slot} bytes"),
            why: format!("the slot size must be a multiple of 4, from 4 to {longest} bytes"),
        });
    }
    let programs = Programs { engine: engine.clone(), plans: Plans::new(engine.device().limits(), Mode::Scan) };
    Ok([programs.get(operation(slot / 4, false))?, programs.get(operation(slot / 4, true))?])
}
