//! Digests of messages in batches, on any device: e = SM3(Z_A ‖ message).

use ringforge::{Buffer, Device, Error, Program, Result, Stream};
use ringforge_batch::batch_of;

use crate::batch::same;
use crate::kernels::WORD;
use crate::plans::Plans;
use crate::windows::Mode;

/// The digests of messages, made ready on a device: what [`Signer`](crate::Signer) and [`Verifier`](crate::Verifier) take.
///
/// Message i lies in slot i, and takes as many bytes of it as `lengths[i]` says; a length beyond the slot counts as the
/// slot's. An identity is of 32 bytes, one for each message or one for all: [`Identities`](crate::Identities) makes them on the
/// device, [`Identity`](crate::Identity) one on the CPU.
#[derive(Debug)]
pub struct Digests {
    slot: usize,
    one: Program,
    each: Program,
}

impl Digests {
    /// For messages of up to `slot` bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `slot` is a multiple of 4 from 4 to 2^20; as [`Device::compile`].
    pub fn new(device: &Device, slot: usize) -> Result<Self> {
        if !slot.is_multiple_of(4) || !(4..=1 << 20).contains(&slot) {
            return Err(Error::Unsupported {
                job: format!("digests of slots of {slot} bytes"),
                why: "a slot has whole words, up to 2^20 bytes".into(),
            });
        }
        let plans = Plans::new(device.limits(), Mode::Scan);
        let compile = |one| device.compile(&plans.digest(slot / 4, one)?);
        Ok(Self { slot, one: compile(true)?, each: compile(false)? })
    }

    /// Writes the digest, 32 bytes, of each message in host memory.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are as many slots, lengths and digests, and identities, or one;
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn digest(&self, identities: &[u8], messages: &[u8], lengths: &[u32], digests: &mut [u8]) -> Result<()> {
        let batch = self.batch(identities.len(), messages.len(), 4 * lengths.len(), digests.len())?;
        let args = &mut [identities.into(), messages.into(), lengths.into(), digests.into()];
        self.program(identities.len()).run_host(batch, args)
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
        let batch = self.batch(identities.len(), messages.len(), lengths.len(), digests.len())?;
        let args = &mut [identities.into(), messages.into(), lengths.into(), digests.into()];
        self.program(identities.len()).run(stream, batch, args)
    }

    fn program(&self, identities: usize) -> &Program {
        if identities == WORD { &self.one } else { &self.each }
    }

    fn batch(&self, identities: usize, messages: usize, lengths: usize, digests: usize) -> Result<usize> {
        let batch = batch_of("bytes of messages", messages, self.slot)?;
        if identities != WORD {
            same("bytes of identities", identities, batch * WORD)?;
        }
        same("bytes of lengths", lengths, batch * 4)?;
        same("bytes of digests", digests, batch * WORD)?;
        Ok(batch)
    }
}
