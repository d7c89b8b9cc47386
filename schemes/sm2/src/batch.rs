//! Signing and verification in batches, on any device.

use core::fmt;
use std::sync::OnceLock;

use ringforge::{Buffer, Device, Draws, Error, Program, Result, Stream};
use ringforge_batch::{Fault, Outcome, Reason, batch_of, run_host};
use zeroize::Zeroizing;

use crate::kernels::{PAIR, STATUS, WORD};
use crate::plans::Plans;
use crate::windows::Mode;

/// Signing and key generation made ready on a device.
///
/// ```
/// use ringforge::Engine;
/// use ringforge_sm2::{Mode, Signer, Verifier};
///
/// let engine = Engine::best(); // a CUDA GPU where there is one, else the CPU
/// let device = engine.device();
/// let signer = Signer::new(device, Mode::Scan)?;
/// let (mut private_keys, mut public_keys) = (vec![0; 3 * 32], vec![0; 3 * 64]);
/// signer.generate(&mut private_keys, &mut public_keys)?.all()?;
///
/// let (digests, mut signatures) = ([7; 3 * 32], vec![0; 3 * 64]);
/// signer.sign(&private_keys, &digests, &mut signatures)?.all()?;
///
/// let verifier = Verifier::new(device)?;
/// verifier.verify(&public_keys, &digests, &signatures)?.all()?;
/// signatures[70] ^= 1; // of the second item
/// assert_eq!(verifier.verify(&public_keys, &digests, &signatures)?.faults()[0].item, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Signer {
    device: Device,
    plans: Plans,
    prepare: Program,
    sign: Program,
    sign_by_one: Program,
    generate: OnceLock<Program>,
    public_keys: OnceLock<Program>,
    #[cfg(feature = "hazmat")]
    sign_with_nonces: OnceLock<Program>,
}

/// Private keys on a device, prepared for signing. Wiped when dropped.
#[derive(Debug)]
pub struct PreparedKeys {
    keys: Buffer,
}

impl PreparedKeys {
    /// Keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len() / WORD
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl Signer {
    /// Makes signing ready. On a GPU the table of the base point is made at this moment: 32 MiB for
    /// [`Mode::Throughput`], 52 KiB for [`Mode::Scan`], once for each device.
    ///
    /// # Errors
    /// As [`Device::compile`].
    pub fn new(device: &Device, mode: Mode) -> Result<Self> {
        Self::with_plans(device, Plans::new(device.limits(), mode))
    }

    /// With small tables and blocks, for tests on devices that take long for large ones.
    ///
    /// # Errors
    /// As [`Signer::new`].
    #[cfg(feature = "testkit")]
    pub fn small(device: &Device, mode: Mode) -> Result<Self> {
        Self::with_plans(device, Plans::small(mode))
    }

    fn with_plans(device: &Device, plans: Plans) -> Result<Self> {
        Ok(Self {
            device: device.clone(),
            plans,
            prepare: device.compile(&plans.prepare()?)?,
            sign: device.compile(&plans.sign(false)?)?,
            sign_by_one: device.compile(&plans.sign(true)?)?,
            generate: OnceLock::new(),
            public_keys: OnceLock::new(),
            #[cfg(feature = "hazmat")]
            sign_with_nonces: OnceLock::new(),
        })
    }

    /// The device.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Fills the slices with new private keys of 32 bytes and public ones of 64, x ‖ y.
    ///
    /// # Errors
    /// [`Error::Length`] unless both are of as many whole keys; [`Error::Unsupported`] where the system gives no
    /// randomness; [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn generate(&self, private_keys: &mut [u8], public_keys: &mut [u8]) -> Result<Outcome> {
        let batch = batch_of("bytes of private keys", private_keys.len(), WORD)?;
        same("bytes of public keys", public_keys.len(), batch * PAIR)?;
        let draws = Draws::from_os()?;
        let program = later(&self.device, &self.generate, || self.plans.generate())?;
        run_host(program, batch, &[draws.as_bytes()], [(private_keys, WORD), (public_keys, PAIR)])
    }

    /// Writes the public key, 64 bytes x ‖ y, of each private key of 32 bytes. The fault of a key out of range is
    /// [`Reason::PrivateKeyRange`].
    ///
    /// # Errors
    /// As [`Signer::generate`].
    pub fn public_keys(&self, private_keys: &[u8], public_keys: &mut [u8]) -> Result<Outcome> {
        let batch = batch_of("bytes of private keys", private_keys.len(), WORD)?;
        same("bytes of public keys", public_keys.len(), batch * PAIR)?;
        let program = later(&self.device, &self.public_keys, || self.plans.public_keys())?;
        run_host(program, batch, &[private_keys], [(public_keys, PAIR)])
    }

    /// Signs digests of 32 bytes: signature i, r ‖ s of 64 bytes, by private key i, or all by the only one. The fault of
    /// an item whose key is out of range is [`Reason::PrivateKeyRange`], and its signature zero.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are as many digests, signatures and keys, or one key; as [`Signer::generate`].
    pub fn sign(&self, private_keys: &[u8], digests: &[u8], signatures: &mut [u8]) -> Result<Outcome> {
        let (batch, one) = self.signing(private_keys.len(), digests.len(), signatures.len())?;
        let prepared = self.prepared(private_keys)?;
        let draws = Draws::from_os()?;
        let program = if one { &self.sign_by_one } else { &self.sign };
        run_host(program, batch, &[&prepared, digests, draws.as_bytes()], [(signatures, PAIR)])
    }

    /// As [`Signer::sign`], with a nonce of 32 bytes for each item. The fault of a nonce that is out of range, or leads
    /// to r = 0, r + k = n or s = 0, is [`Reason::NonceRefused`]. Who learns a nonce, or gets two signatures with the same
    /// one, has the key.
    ///
    /// # Errors
    /// As [`Signer::sign`], and [`Error::Length`] unless there are as many nonces.
    #[cfg(feature = "hazmat")]
    pub fn sign_with_nonces(
        &self,
        private_keys: &[u8],
        digests: &[u8],
        nonces: &[u8],
        signatures: &mut [u8],
    ) -> Result<Outcome> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        same("bytes of private keys", private_keys.len(), digests.len())?;
        same("bytes of nonces", nonces.len(), digests.len())?;
        same("bytes of signatures", signatures.len(), batch * PAIR)?;
        let prepared = self.prepared(private_keys)?;
        let program = later(&self.device, &self.sign_with_nonces, || self.plans.sign_with_nonces(false))?;
        run_host(program, batch, &[&prepared, digests, nonces], [(signatures, PAIR)])
    }

    /// Private keys of 32 bytes to the device. One that is out of range shows when it is used.
    ///
    /// # Errors
    /// [`Error::Length`] unless they are whole; [`Error::ForeignDevice`], [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn prepare(&self, stream: &Stream, private_keys: &[u8]) -> Result<PreparedKeys> {
        let batch = batch_of("bytes of private keys", private_keys.len(), WORD)?;
        let raw = stream.upload_secret(private_keys)?;
        let mut keys = stream.secret_buffer(private_keys.len())?;
        self.prepare.run(stream, batch, &mut [(&raw).into(), (&mut keys).into()])?;
        Ok(PreparedKeys { keys })
    }

    /// As [`Signer::sign`], on buffers of the device in a stream's order: digests to signatures and statuses, a word of 32
    /// bits for each item, which [`outcome`] reads.
    ///
    /// # Errors
    /// As [`Signer::sign`]; [`Error::ForeignDevice`], [`Error::Unwritten`].
    pub fn sign_on(
        &self,
        stream: &Stream,
        keys: &PreparedKeys,
        digests: &Buffer,
        signatures: &mut Buffer,
        statuses: &mut Buffer,
    ) -> Result<()> {
        let (batch, one) = self.signing(keys.keys.len(), digests.len(), signatures.len())?;
        let program = if one { &self.sign_by_one } else { &self.sign };
        stream.with_draws(|draws| {
            let mut args = [(&keys.keys).into(), digests.into(), draws.into(), signatures.into(), statuses.into()];
            program.run(stream, batch, &mut args)
        })
    }

    /// The batch of these bytes, and whether one key signs all.
    fn signing(&self, private_keys: usize, digests: usize, signatures: usize) -> Result<(usize, bool)> {
        let batch = batch_of("bytes of digests", digests, WORD)?;
        let one = private_keys == WORD;
        if !one {
            same("bytes of private keys", private_keys, digests)?;
        }
        same("bytes of signatures", signatures, batch * PAIR)?;
        Ok((batch, one))
    }

    fn prepared(&self, private_keys: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let mut prepared = Zeroizing::new(vec![0; private_keys.len()]);
        let args = &mut [private_keys.into(), prepared.as_mut_slice().into()];
        self.prepare.run_host(private_keys.len() / WORD, args)?;
        Ok(prepared)
    }
}

/// Verification made ready on a device.
///
/// A fault tells what is wrong with an item: [`Reason::SignatureRange`], [`Reason::PublicKeyPoint`],
/// [`Reason::SignatureWrong`]. No item's faults, nor what is wrong with its key, change what becomes of another.
pub struct Verifier {
    device: Device,
    plans: Plans,
    verify: Program,
    cache: Program,
}

/// Public keys on a device with a table of 256 KiB each, to verify many signatures of few keys.
pub struct CachedKeys {
    tables: Buffer,
    count: usize,
    verify: Program,
}

impl Verifier {
    /// Makes verification ready, with a table of the base point, on a GPU of 32 MiB, once for each device.
    ///
    /// # Errors
    /// As [`Device::compile`].
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_plans(device, Plans::new(device.limits(), Mode::Throughput))
    }

    /// With small tables and blocks, for tests on devices that take long for large ones.
    ///
    /// # Errors
    /// As [`Verifier::new`].
    #[cfg(feature = "testkit")]
    pub fn small(device: &Device) -> Result<Self> {
        Self::with_plans(device, Plans::small(Mode::Throughput))
    }

    fn with_plans(device: &Device, plans: Plans) -> Result<Self> {
        let (verify, cache) = (device.compile(&plans.verify()?)?, device.compile(&plans.cache()?)?);
        Ok(Self { device: device.clone(), plans, verify, cache })
    }

    /// The device.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Verifies signature i, 64 bytes r ‖ s, of digest i, 32 bytes, by public key i, 64 bytes x ‖ y.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are as many of each; [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn verify(&self, public_keys: &[u8], digests: &[u8], signatures: &[u8]) -> Result<Outcome> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        same("bytes of public keys", public_keys.len(), batch * PAIR)?;
        same("bytes of signatures", signatures.len(), batch * PAIR)?;
        run_host(&self.verify, batch, &[public_keys, digests, signatures], [])
    }

    /// As [`Verifier::verify`], on buffers of the device in a stream's order, to statuses, a word of 32 bits for each
    /// item, which [`outcome`] reads.
    ///
    /// # Errors
    /// As [`Verifier::verify`]; [`Error::ForeignDevice`], [`Error::Unwritten`].
    pub fn verify_on(
        &self,
        stream: &Stream,
        public_keys: &Buffer,
        digests: &Buffer,
        signatures: &Buffer,
        statuses: &mut Buffer,
    ) -> Result<()> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let args = &mut [public_keys.into(), digests.into(), signatures.into(), statuses.into()];
        self.verify.run(stream, batch, args)
    }

    /// Makes tables of public keys of 64 bytes, where they take no more than `budget` bytes. If keys among them are no
    /// points of the curve, there are no tables, but an outcome that names them.
    ///
    /// # Errors
    /// [`Error::Length`] unless they are whole; [`Error::TooLarge`] beyond the budget; as [`Device::compile`].
    pub fn cache(
        &self,
        stream: &Stream,
        public_keys: &[u8],
        budget: usize,
    ) -> Result<core::result::Result<CachedKeys, Outcome>> {
        let count = batch_of("bytes of public keys", public_keys.len(), PAIR)?;
        let size = self.plans.cached.bytes();
        if count > budget / size {
            return Err(Error::TooLarge { what: "keys to be cached", limit: budget / size, got: count });
        }
        let is_good = |key: &[u8]| key.try_into().is_ok_and(|key| crate::PublicKey::from_bytes(key).is_ok());
        let keys = public_keys.chunks_exact(PAIR).enumerate();
        let bad = keys.filter(|(_, key)| !is_good(key)).map(|(item, _)| Fault { item, why: Reason::PublicKeyPoint });
        let bad: Vec<_> = bad.collect();
        if !bad.is_empty() {
            return Ok(Err(Outcome::new(bad)));
        }
        let mut tables = self.device.buffer(count * size)?;
        self.cache.run(stream, count, &mut [(&stream.upload(public_keys)?).into(), (&mut tables).into()])?;
        let verify = self.device.compile(&self.plans.verify_cached(count)?)?;
        Ok(Ok(CachedKeys { tables, count, verify }))
    }
}

impl CachedKeys {
    /// Keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// As [`Verifier::verify_on`], where each item has the number of a cached key, a word of 32 bits. The fault of a
    /// number beyond the last is [`Reason::PublicKeyPoint`].
    ///
    /// # Errors
    /// As [`Verifier::verify_on`].
    pub fn verify_on(
        &self,
        stream: &Stream,
        numbers: &Buffer,
        digests: &Buffer,
        signatures: &Buffer,
        statuses: &mut Buffer,
    ) -> Result<()> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let tables = &self.tables;
        let args = &mut [numbers.into(), digests.into(), signatures.into(), tables.into(), statuses.into()];
        self.verify.run(stream, batch, args)
    }
}

/// Reads statuses off a device, and tells how their items fared.
///
/// # Errors
/// [`Error::Length`] unless they are whole words; [`Error::ForeignDevice`], [`Error::Unwritten`], [`Error::Driver`].
pub fn outcome(stream: &Stream, statuses: &Buffer) -> Result<Outcome> {
    batch_of("bytes of statuses", statuses.len(), STATUS)?;
    Ok(Outcome::new(Reason::faults(&stream.download::<u32>(statuses)?)))
}

/// The program of a plan, compiled when it is first asked for.
fn later<'a>(
    device: &Device,
    place: &'a OnceLock<Program>,
    plan: impl FnOnce() -> Result<ringforge::Plan>,
) -> Result<&'a Program> {
    if let Some(program) = place.get() {
        return Ok(program);
    }
    let program = device.compile(&plan()?)?;
    Ok(place.get_or_init(|| program))
}

pub(crate) fn same(what: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({:?} on {})", self.plans.mode, self.device)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifier(on {})", self.device)
    }
}

impl fmt::Debug for CachedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CachedKeys({})", self.count)
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use std::sync::Arc;

    use ringforge::Plan;
    use ringforge::testkit::inject::Altered;

    use super::*;

    #[test]
    fn nothing_is_left_in_outputs_of_items_with_faults() {
        let device = Device::cpu();
        let mut signer = Signer::small(&device, Mode::Scan).unwrap();
        let mut steps = signer.plans.sign(false).unwrap().steps().to_vec();
        steps[1].kernel = Arc::new(Altered::new(&steps[1].kernel).passing_over(2));
        signer.sign = device.compile(&Plan::new("SM2 sign, but not all", steps).unwrap()).unwrap();
        let mut signatures = [3; 5 * PAIR];
        let outcome = signer.sign(&[1; 5 * WORD], &[2; 5 * WORD], &mut signatures).unwrap();
        assert!(outcome.faults().contains(&Fault { item: 2, why: Reason::NotReached }), "{outcome:?}");
        for fault in outcome.faults() {
            assert_eq!(signatures[fault.item * PAIR..][..PAIR], [0; PAIR]);
        }
    }
}
