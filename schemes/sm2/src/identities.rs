//! Z_A of public keys in batches, on any device.

use ringforge::{Buffer, Device, Error, Program, Result, Stream};
use ringforge_batch::batch_of;

use crate::batch::same;
use crate::kernels::{PAIR, WORD};
use crate::params::MAX_ID_BYTES;
use crate::plans::Plans;
use crate::windows::Mode;

/// What public keys and their owners' identifiers come to, made ready on a device: what [`Digests`](crate::Digests) takes
/// for many keys. [`Identity`](crate::Identity) is the same for one.
///
/// Identifier i lies in slot i, and takes as many bytes of it as `lengths[i]` says; a length beyond the slot, or beyond
/// [`MAX_ID_BYTES`], counts as that. There is one identifier for each key or one for all. A key is hashed as it is:
/// whether it is one, verification tells.
///
/// ```
/// use ringforge::Device;
/// use ringforge_sm2::{DEFAULT_ID, Digests, Identities, Identity, PrivateKey};
///
/// let device = Device::cpu();
/// let keys = [5, 6].map(|d| *PrivateKey::from_bytes(&[d; 32]).expect("in range").public_key());
/// let (mut identities, mut digests) = ([0; 64], [0; 64]);
/// Identities::new(&device, 16)?.identify(DEFAULT_ID, &[16], &keys.map(|key| key.to_bytes()).concat(), &mut identities)?;
/// Digests::new(&device, 4)?.digest(&identities, b"messages", &[4, 4], &mut digests)?;
/// assert_eq!(digests[32..], Identity::new(&keys[1], DEFAULT_ID)?.digest(b"ages"));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug)]
pub struct Identities {
    slot: usize,
    one: Program,
    each: Program,
}

impl Identities {
    /// For identifiers of up to `slot` bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `slot` is a multiple of 4 from 4 to 2^13; as [`Device::compile`].
    pub fn new(device: &Device, slot: usize) -> Result<Self> {
        if !slot.is_multiple_of(4) || !(4..=MAX_ID_BYTES + 1).contains(&slot) {
            return Err(Error::Unsupported {
                job: format!("identifiers in slots of {slot} bytes"),
                why: "a slot has whole words, up to 2^13 bytes".into(),
            });
        }
        let plans = Plans::new(device.limits(), Mode::Scan);
        let compile = |one| device.compile(&plans.identity(slot / 4, one)?);
        Ok(Self { slot, one: compile(true)?, each: compile(false)? })
    }

    /// Writes Z_A, 32 bytes, of each public key of 64 bytes in host memory.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are as many keys and identities, and slots and lengths, or one of these;
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn identify(&self, ids: &[u8], lengths: &[u32], public_keys: &[u8], identities: &mut [u8]) -> Result<()> {
        let batch = self.batch(ids.len(), 4 * lengths.len(), public_keys.len(), identities.len())?;
        let args = &mut [ids.into(), lengths.into(), public_keys.into(), identities.into()];
        self.program(ids.len()).run_host(batch, args)
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
        let batch = self.batch(ids.len(), lengths.len(), public_keys.len(), identities.len())?;
        let args = &mut [ids.into(), lengths.into(), public_keys.into(), identities.into()];
        self.program(ids.len()).run(stream, batch, args)
    }

    fn program(&self, ids: usize) -> &Program {
        if ids == self.slot { &self.one } else { &self.each }
    }

    fn batch(&self, ids: usize, lengths: usize, public_keys: usize, identities: usize) -> Result<usize> {
        let batch = batch_of("bytes of public keys", public_keys, PAIR)?;
        let slots = if ids == self.slot { 1 } else { batch };
        same("bytes of identifiers", ids, slots * self.slot)?;
        same("bytes of lengths", lengths, slots * 4)?;
        same("bytes of identities", identities, batch * WORD)?;
        Ok(batch)
    }
}
