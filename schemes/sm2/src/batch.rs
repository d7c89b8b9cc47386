//! Signing and verification of batches, on any device.

use ringforge::words::Limbs;
use ringforge::{Buffer, Device, Engine, Error, Program, RandomKey, Result, Stream};
use ringforge_batch::{BatchStatus, ItemError, batch_of, run_host};
use zeroize::Zeroizing;

use crate::error::Sm2Error;
use crate::kernels::{PAIR, STATUS, WORD};
use crate::plans::{Operation, Plans, Programs};
use crate::point::Affine;
use crate::windows::Mode;

/// Signing and key generation, compiled for a device.
///
/// ```
/// use ringforge::Engine;
/// use ringforge_sm2::{Mode, Signer, Verifier};
///
/// let engine = Engine::best(); // a CUDA GPU where there is one, else the CPU
/// let signer = Signer::new(&engine, Mode::Scan)?;
/// let (mut private_keys, mut public_keys) = (vec![0; 3 * 32], vec![0; 3 * 64]);
/// signer.generate(&mut private_keys, &mut public_keys)?.into_result()?;
///
/// let (digests, mut signatures) = ([7; 3 * 32], vec![0; 3 * 64]);
/// signer.sign(&private_keys, &digests, &mut signatures)?.into_result()?;
///
/// let verifier = Verifier::new(&engine)?;
/// verifier.verify(&public_keys, &digests, &signatures)?.into_result()?;
/// signatures[70] ^= 1; // corrupts the second signature
/// assert_eq!(verifier.verify(&public_keys, &digests, &signatures)?.errors()[0].item, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Signer(Programs);

/// Private keys d on a device, converted for signing to (1 + d)^-1 mod n. They are wiped when dropped.
#[derive(Debug)]
pub struct PreparedKeys {
    keys: Buffer,
}

impl PreparedKeys {
    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len() / WORD
    }

    /// Returns true if there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl Signer {
    /// Compiles the signing programs. On a GPU, this also computes a table of multiples of the base point, once per
    /// device. The table takes 32 MiB for [`Mode::Throughput`] and 52 KiB for [`Mode::Scan`].
    ///
    /// # Errors
    /// The errors of [`Engine::program_of`] if a program cannot be planned or compiled.
    pub fn new(engine: &Engine, mode: Mode) -> Result<Self> {
        Self::with_plans(engine, Plans::new(engine.device().limits(), mode))
    }

    /// Like [`Signer::new`], with small tables and blocks, for tests on devices where large ones are slow.
    ///
    /// # Errors
    /// As [`Signer::new`].
    #[cfg(feature = "testkit")]
    pub fn small(engine: &Engine, mode: Mode) -> Result<Self> {
        Self::with_plans(engine, Plans::small(mode))
    }

    fn with_plans(engine: &Engine, plans: Plans) -> Result<Self> {
        let sign = [true, false].map(|one_key| Operation::Sign { one_key });
        Programs { engine: engine.clone(), plans }.ready([Operation::Prepare, sign[0], sign[1]]).map(Self)
    }

    /// The device that runs this signer.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.engine.device()
    }

    /// Fills the slices with new private keys of 32 bytes and their public keys of 64 bytes, x ‖ y.
    ///
    /// # Errors
    /// [`Error::Length`] unless the length of `private_keys` is a multiple of 32; [`Error::ArgumentSize`] unless
    /// `public_keys` has twice that length. [`Error::Unsupported`] if the system provides no randomness.
    /// [`Error::OutOfMemory`] if device memory runs out; [`Error::Driver`] if a driver call fails. The first call
    /// compiles the program, so it may also return the errors of [`Engine::program_of`].
    pub fn generate(&self, private_keys: &mut [u8], public_keys: &mut [u8]) -> Result<BatchStatus<Sm2Error>> {
        let batch = batch_of("bytes of private keys", private_keys.len(), WORD)?;
        let outputs = [("private keys", private_keys, WORD), ("public keys", public_keys, PAIR)];
        let (program, random_key) = (self.0.get(Operation::Generate)?, RandomKey::from_os()?);
        run_host(&program, batch, &[("random_key", random_key.as_bytes())], outputs)
    }

    /// Computes the public key, 64 bytes x ‖ y, of each private key of 32 bytes. A key out of range gets the item error
    /// [`Sm2Error::PrivateKeyRange`].
    ///
    /// # Errors
    /// As [`Signer::generate`], except that no randomness is needed.
    pub fn public_keys(&self, private_keys: &[u8], public_keys: &mut [u8]) -> Result<BatchStatus<Sm2Error>> {
        let batch = batch_of("bytes of private keys", private_keys.len(), WORD)?;
        let (inputs, outputs) = ([("private keys", private_keys)], [("public keys", public_keys, PAIR)]);
        run_host(&self.0.get(Operation::PublicKeys)?, batch, &inputs, outputs)
    }

    /// Signs digests of 32 bytes. Signature i, 64 bytes r ‖ s, is by private key i, or by the only key if there is just
    /// one. An item whose key is out of range gets the error [`Sm2Error::PrivateKeyRange`] and a zero signature.
    ///
    /// # Errors
    /// [`Error::Length`] unless the lengths of `digests` and `private_keys` are multiples of 32.
    /// [`Error::ArgumentSize`] unless there is one signature per digest, and one key per digest or a single key.
    /// [`Error::Unsupported`] if the system provides no randomness. [`Error::OutOfMemory`] if device memory runs out;
    /// [`Error::Driver`] if a driver call fails.
    pub fn sign(&self, private_keys: &[u8], digests: &[u8], signatures: &mut [u8]) -> Result<BatchStatus<Sm2Error>> {
        let sign = Operation::Sign { one_key: private_keys.len() == WORD };
        self.sign_by(sign, private_keys, digests, ("random_key", RandomKey::from_os()?.as_bytes()), signatures)
    }

    /// Like [`Signer::sign`], with a nonce of 32 bytes and a key for each item. A nonce that becomes known, or is used
    /// for two signatures, reveals the private key.
    ///
    /// An item gets the error [`Sm2Error::NonceRefused`] if its nonce k is out of range, or leads to r = 0, r + k = n
    /// or s = 0.
    ///
    /// # Errors
    /// [`Error::Length`] unless the lengths of `digests` and `private_keys` are multiples of 32.
    /// [`Error::ArgumentSize`] unless there is one key, one nonce and one signature per digest. [`Error::OutOfMemory`]
    /// if device memory runs out; [`Error::Driver`] if a driver call fails. The first call compiles the program, so it
    /// may also return the errors of [`Engine::program_of`].
    #[cfg(feature = "hazmat")]
    pub fn sign_with_nonces(
        &self,
        private_keys: &[u8],
        digests: &[u8],
        nonces: &[u8],
        signatures: &mut [u8],
    ) -> Result<BatchStatus<Sm2Error>> {
        self.sign_by(Operation::SignWithNonces, private_keys, digests, ("nonces", nonces), signatures)
    }

    /// Prepares private keys d of 32 bytes on the device: computes (1 + d)^-1 mod n. A key that is out of range becomes
    /// zero, so signing with this key reports an error.
    ///
    /// # Errors
    /// [`Error::Length`] unless the length of `private_keys` is a multiple of 32. [`Error::ForeignDevice`] if `stream`
    /// belongs to another device. [`Error::OutOfMemory`] if device memory runs out; [`Error::Driver`] if a driver call
    /// fails.
    pub fn prepare(&self, stream: &Stream, private_keys: &[u8]) -> Result<PreparedKeys> {
        let batch = batch_of("bytes of private keys", private_keys.len(), WORD)?;
        let raw = stream.upload_secret(private_keys)?;
        let mut keys = stream.secret_buffer(private_keys.len())?;
        let prepare = self.0.get(Operation::Prepare)?;
        prepare.on(stream, batch).input("private keys", &raw).output("prepared keys", &mut keys).run()?;
        Ok(PreparedKeys { keys })
    }

    /// Like [`Signer::sign`], on buffers in device memory, in stream order. Also writes the items' statuses, a 32-bit
    /// word each; [`batch_status`] converts them to errors.
    ///
    /// # Errors
    /// [`Error::Length`] unless the length of `digests` is a multiple of 32. [`Error::ArgumentSize`] unless there is
    /// one signature and one status per digest, and one key per digest or a single key. [`Error::Unsupported`] if the
    /// system provides no randomness. [`Error::OutOfMemory`] if device memory runs out; [`Error::Driver`] if a driver
    /// call fails. [`Error::ForeignDevice`] if `stream` or a buffer is on another device; [`Error::Unwritten`] if
    /// nothing was written to `digests`.
    pub fn sign_on(
        &self,
        stream: &Stream,
        keys: &PreparedKeys,
        digests: &Buffer,
        signatures: &mut Buffer,
        statuses: &mut Buffer,
    ) -> Result<()> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let sign = self.0.get(Operation::Sign { one_key: keys.len() == 1 })?;
        stream.with_random_key(|random_key| {
            let call = sign.on(stream, batch);
            let call =
                call.input("prepared keys", &keys.keys).input("digests", digests).input("random_key", random_key);
            call.output("signatures", signatures).output("statuses", statuses).run()
        })
    }

    /// Signs digests with the program of `sign`. `randomness` is the name and the bytes of its input for nonces: a
    /// random generator's key, or the nonces themselves.
    fn sign_by(
        &self,
        sign: Operation,
        private_keys: &[u8],
        digests: &[u8],
        randomness: (&str, &[u8]),
        signatures: &mut [u8],
    ) -> Result<BatchStatus<Sm2Error>> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let keys = batch_of("bytes of private keys", private_keys.len(), WORD)?;
        let mut prepared = Zeroizing::new(vec![Limbs::default(); keys]);
        let prepare = self.0.get(Operation::Prepare)?;
        prepare.on_host(keys).input("private keys", private_keys).output("prepared keys", &mut prepared).run()?;
        let inputs = [("prepared keys", bytemuck::cast_slice(&prepared)), ("digests", digests), randomness];
        run_host(&self.0.get(sign)?, batch, &inputs, [("signatures", signatures, PAIR)])
    }
}

/// Verification, compiled for a device.
///
/// An invalid item gets the error [`Sm2Error::SignatureRange`], [`Sm2Error::PublicKeyPoint`] or
/// [`Sm2Error::SignatureWrong`]. It never affects the results of other items.
#[derive(Debug)]
pub struct Verifier(Programs);

/// Public keys on a device with a table of 256 KiB each, for verifying many signatures by few keys.
#[derive(Debug)]
pub struct CachedKeys {
    tables: Buffer,
    count: usize,
    verify: Program,
}

impl Verifier {
    /// Compiles the verification programs. On a GPU, this also computes a table of multiples of the base point, once
    /// per device. The table takes 32 MiB.
    ///
    /// # Errors
    /// The errors of [`Engine::program_of`] if a program cannot be planned or compiled.
    pub fn new(engine: &Engine) -> Result<Self> {
        Self::with_plans(engine, Plans::new(engine.device().limits(), Mode::Throughput))
    }

    /// Like [`Verifier::new`], with small tables and blocks, for tests on devices where large ones are slow.
    ///
    /// # Errors
    /// As [`Verifier::new`].
    #[cfg(feature = "testkit")]
    pub fn small(engine: &Engine) -> Result<Self> {
        Self::with_plans(engine, Plans::small(Mode::Throughput))
    }

    fn with_plans(engine: &Engine, plans: Plans) -> Result<Self> {
        Programs { engine: engine.clone(), plans }.ready([Operation::Verify, Operation::KeyTables]).map(Self)
    }

    /// The device that runs this verifier.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.engine.device()
    }

    /// Verifies signature i (64 bytes r ‖ s) of digest i (32 bytes) with public key i (64 bytes x ‖ y).
    ///
    /// # Errors
    /// [`Error::Length`] unless the length of `digests` is a multiple of 32. [`Error::ArgumentSize`] unless there is
    /// one key and one signature per digest. [`Error::OutOfMemory`] if device memory runs out; [`Error::Driver`] if a
    /// driver call fails.
    pub fn verify(&self, public_keys: &[u8], digests: &[u8], signatures: &[u8]) -> Result<BatchStatus<Sm2Error>> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let inputs = [("public keys", public_keys), ("digests", digests), ("signatures", signatures)];
        run_host(&self.0.get(Operation::Verify)?, batch, &inputs, [])
    }

    /// Like [`Verifier::verify`], on buffers in device memory, in stream order. Writes the items' statuses, a 32-bit
    /// word each; [`batch_status`] converts them to errors.
    ///
    /// # Errors
    /// As [`Verifier::verify`]. [`Error::ForeignDevice`] if `stream` or a buffer is on another device;
    /// [`Error::Unwritten`] if nothing was written to an input.
    pub fn verify_on(
        &self,
        stream: &Stream,
        public_keys: &Buffer,
        digests: &Buffer,
        signatures: &Buffer,
        statuses: &mut Buffer,
    ) -> Result<()> {
        let batch = batch_of("bytes of digests", digests.len(), WORD)?;
        let verify = self.0.get(Operation::Verify)?;
        let call = verify.on(stream, batch).input("public keys", public_keys).input("digests", digests);
        call.input("signatures", signatures).output("statuses", statuses).run()
    }

    /// Computes a table of multiples of each public key of 64 bytes. The tables must take at most `budget` bytes in
    /// total. If some keys are not points of the curve, returns a status with an error for each of these keys instead
    /// of tables.
    ///
    /// # Errors
    /// [`Error::Length`] unless the length of `public_keys` is a multiple of 64. [`Error::TooLarge`] if the tables
    /// exceed the budget. [`Error::ForeignDevice`] if `stream` belongs to another device. [`Error::OutOfMemory`] if
    /// device memory runs out; [`Error::Driver`] if a driver call fails. The errors of [`Engine::program_of`] if a
    /// program cannot be planned or compiled.
    pub fn cache(
        &self,
        stream: &Stream,
        public_keys: &[u8],
        budget: usize,
    ) -> Result<core::result::Result<CachedKeys, BatchStatus<Sm2Error>>> {
        let count = batch_of("bytes of public keys", public_keys.len(), PAIR)?;
        let size = self.0.plans.cached.bytes();
        if count > budget / size {
            return Err(Error::TooLarge { what: "number of keys for this budget", limit: budget / size, got: count });
        }
        let keys = public_keys.as_chunks().0.iter().enumerate();
        let bad = keys.filter(|(_, key)| Affine::from_bytes(key).is_none());
        let bad: Vec<_> = bad.map(|(item, _)| ItemError { item, kind: Sm2Error::PublicKeyPoint.into() }).collect();
        if !bad.is_empty() {
            return Ok(Err(BatchStatus::new(bad)));
        }
        let mut tables = self.device().buffer(count * size)?;
        let public_keys = stream.upload(public_keys)?;
        let make = self.0.get(Operation::KeyTables)?;
        make.on(stream, count).input("public keys", &public_keys).output("tables", &mut tables).run()?;
        let verify = self.0.get(Operation::VerifyCached(count))?;
        Ok(Ok(CachedKeys { tables, count, verify }))
    }
}

impl CachedKeys {
    /// The number of keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no keys.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Like [`Verifier::verify_on`], with each key given by its index in the cache, a 32-bit word per item. An index
    /// past the last key gives the item error [`Sm2Error::PublicKeyPoint`].
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
        let call = self.verify.on(stream, batch).input("numbers", numbers).input("digests", digests);
        call.input("signatures", signatures).input("tables", &self.tables).output("statuses", statuses).run()
    }
}

/// Downloads statuses from a device and returns the errors of the items.
///
/// # Errors
/// [`Error::Length`] unless the length of `statuses` is a multiple of 4. [`Error::ForeignDevice`] if `statuses` is on
/// another device than `stream`; [`Error::Unwritten`] if nothing was written to it; [`Error::Driver`] if a driver call
/// fails.
pub fn batch_status(stream: &Stream, statuses: &Buffer) -> Result<BatchStatus<Sm2Error>> {
    batch_of("bytes of statuses", statuses.len(), STATUS)?;
    Ok(BatchStatus::of(&stream.download(statuses)?))
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use ringforge::Plan;
    use ringforge_testkit::inject::{Altered, with_kernels};

    use ringforge_batch::ErrorKind;

    use super::*;

    #[test]
    fn outputs_of_failed_items_are_zero() {
        let (engine, plans) = (Engine::cpu(), Plans::small(Mode::Scan));
        let passes_over =
            |plan: &Plan| with_kernels(plan, |step, kernel| (step == 1).then(|| Altered::new(kernel).passing_over(2)));
        // puts the altered program into the engine's cache, from which the signer takes it
        let sign = Operation::Sign { one_key: false };
        engine.program_of(&(plans, sign), |planner| Ok(passes_over(&plans.plan(sign, planner)?))).unwrap();
        let signer = Signer::small(&engine, Mode::Scan).unwrap();
        let mut signatures = [3; 5 * PAIR];
        let status = signer.sign(&[1; 5 * WORD], &[2; 5 * WORD], &mut signatures).unwrap();
        assert!(status.errors().contains(&ItemError { item: 2, kind: ErrorKind::NotReached }), "{status:?}");
        for error in status.errors() {
            assert_eq!(signatures[error.item * PAIR..][..PAIR], [0; PAIR]);
        }
    }
}
