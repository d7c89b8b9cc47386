//! What comes before signatures, in batches on any device: Z_A of public keys, and e of messages.

use ringforge::{Buffer, Engine, Error, Program, Result, Stream};
use ringforge_batch::batch_of;

use crate::kernels::WORD;
use crate::params::MAX_ID_BYTES;
use crate::plans::{Operation, Plans, Programs};
use crate::windows::Mode;

/// What public keys and their owners' identifiers come to, made ready on a device: what [`Digests`] takes for many keys.
/// [`Identity`](crate::Identity) is the same for one.
///
/// Identifier i lies in slot i, and takes as many bytes of it as `lengths[i]` says; a length beyond the slot, or beyond
/// [`MAX_ID_BYTES`], counts as that. There is one identifier for each key or one for all. A key is hashed as it is:
/// whether it is one, verification tells.
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

/// The digests e = SM3(Z_A ‖ message), made ready on a device: what [`Signer`](crate::Signer) and
/// [`Verifier`](crate::Verifier) take.
///
/// Message i lies in slot i, and takes as many bytes of it as `lengths[i]` says; a length beyond the slot counts as the
/// slot's. An identity is of 32 bytes, one for each message or one for all: [`Identities`] makes them on the device,
/// [`Identity`](crate::Identity) one on the CPU.
#[derive(Debug)]
pub struct Digests([Program; 2]);

impl Identities {
    /// For identifiers of up to `slot` bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `slot` is a multiple of 4 from 4 to 2^13; as [`Engine::program_of`].
    pub fn new(engine: &Engine, slot: usize) -> Result<Self> {
        let operation = |words, one_id| Operation::Identity { words, one_id };
        of_slots(engine, "identifiers", slot, MAX_ID_BYTES + 1, operation).map(Self)
    }

    /// Writes Z_A, 32 bytes, of each public key of 64 bytes in host memory.
    ///
    /// # Errors
    /// [`Error::Length`] unless identities are whole, [`Error::ArgumentSize`] unless there are as many keys, and slots and
    /// lengths, or one of these; [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn identify(&self, ids: &[u8], lengths: &[u32], public_keys: &[u8], identities: &mut [u8]) -> Result<()> {
        let batch = batch_of("bytes of identities", identities.len(), WORD)?;
        let call =
            self.0[usize::from(lengths.len() == 1)].on_host(batch).input("identifiers", ids).input("lengths", lengths);
        call.input("public keys", public_keys).output("identities", identities).run()
    }

    /// As [`Identities::identify`], on buffers of the device in a stream's order; lengths are words of 32 bits.
    ///
    /// # Errors
    /// As [`Identities::identify`]; [`Error::ForeignDevice`], [`Error::Unwritten`].
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
    /// For messages of up to `slot` bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `slot` is a multiple of 4 from 4 to 2^20; as [`Engine::program_of`].
    pub fn new(engine: &Engine, slot: usize) -> Result<Self> {
        let operation = |words, one_identity| Operation::Digest { words, one_identity };
        of_slots(engine, "messages", slot, 1 << 20, operation).map(Self)
    }

    /// Writes the digest, 32 bytes, of each message in host memory.
    ///
    /// # Errors
    /// [`Error::Length`] unless digests are whole, [`Error::ArgumentSize`] unless there are as many slots and lengths, and
    /// identities, or one; [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn digest(&self, identities: &[u8], messages: &[u8], lengths: &[u32], digests: &mut [u8]) -> Result<()> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let call = self.0[usize::from(identities.len() == WORD)].on_host(batch).input("identities", identities);
        call.input("messages", messages).input("lengths", lengths).output("digests", digests).run()
    }

    /// As [`Digests::digest`], on buffers of the device in a stream's order; lengths are words of 32 bits.
    ///
    /// # Errors
    /// As [`Digests::digest`]; [`Error::ForeignDevice`], [`Error::Unwritten`].
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

/// The programs for slots of whole words, up to `longest` bytes: where each item has its own, and where all share one.
fn of_slots(
    engine: &Engine,
    what: &str,
    slot: usize,
    longest: usize,
    operation: impl Fn(usize, bool) -> Operation,
) -> Result<[Program; 2]> {
    if !slot.is_multiple_of(4) || !(4..=longest).contains(&slot) {
        return Err(Error::Unsupported {
            job: format!("{what} in slots of {slot} bytes"),
            why: format!("a slot has whole words, up to {longest} bytes"),
        });
    }
    let programs = Programs { engine: engine.clone(), plans: Plans::new(engine.device().limits(), Mode::Scan) };
    Ok([programs.get(operation(slot / 4, false))?, programs.get(operation(slot / 4, true))?])
}
