//! [`Batch`]: key generation, encapsulation and decapsulation of a KEM on one device.

use core::any::TypeId;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use ringforge::{Buffer, Device, Engine, Error, Program, Result, Stream};

use crate::host::{STATUSES, run_host};
use crate::items::{Ciphertexts, ItemKind, Items, PublicKeys, SecretKeys, SharedKeys, bytes_of};
use crate::kem_scheme::{KemScheme, Operation, Randomness};
use crate::sizes::{Sizes, batch_of};
use crate::status::BatchStatus;

use Operation::{CheckPublicKeys, CheckSecretKeys, Decapsulate, Encapsulate, Generate};
use Randomness::RandomKey;

/// A KEM on one device: key generation, encapsulation and decapsulation of many items per call.
///
/// Every function accepts batches of any size, including 0. The outputs of an item depend only on its own inputs and
/// randomness, not on other items. An `Err` means that the whole call failed; the outputs are then unusable. An invalid
/// item is reported in the [`BatchStatus`] instead: its outputs are zero, and other items are unaffected. Keys from
/// host memory are always checked: by the operation itself, or on import.
///
/// Timing and memory accesses do not depend on secrets, nor on whether a ciphertext was rejected. A rejected ciphertext
/// yields a pseudorandom shared key (implicit rejection).
///
/// A function on host memory takes the number of items from its key slice: `secret_keys` for decapsulation, else
/// `public_keys`. It returns [`Error::Length`] unless that slice holds whole items, and [`Error::ArgumentSize`] if
/// another slice has a different number of items. Every function may return [`Error::OutOfMemory`], or
/// [`Error::Driver`] if a driver call fails. Functions that need randomness return [`Error::Unsupported`] if the system
/// provides none. Functions that take streams or handles return [`Error::ForeignDevice`] unless these are on
/// [`Batch::device`].
///
/// The KEM is part of the type of a handle, so code that mixes handles of different KEMs does not compile:
///
/// ```compile_fail,E0308
/// use ringforge_batch::{Batch, KemScheme, PublicKeys};
///
/// fn mixed<M: KemScheme, N: KemScheme>(kem: &Batch<M>, stream: &ringforge::Stream, keys: &PublicKeys<N>) {
///     kem.encapsulate_on(stream, keys);
/// }
/// ```
pub struct Batch<M> {
    engine: Engine,
    kem: PhantomData<fn() -> M>,
}

impl<M: KemScheme> Batch<M> {
    /// Creates a batch KEM, and compiles its programs for key generation, encapsulation and decapsulation on handles.
    /// All other programs are compiled on first use. The engine caches the programs.
    ///
    /// # Errors
    /// The errors of [`Engine::program_of`].
    pub fn new(engine: &Engine) -> Result<Self> {
        let batch = Self { engine: engine.clone(), kem: PhantomData };
        [Generate(RandomKey), Encapsulate(RandomKey), Decapsulate].iter().try_for_each(|&operation| {
            batch.program(operation, false).map(drop) // cached by the engine
        })?;
        Ok(batch)
    }

    /// Sizes of the items, in bytes.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        M::SIZES
    }

    /// The device that runs the operations.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.engine.device()
    }

    /// Fills both slices with new key pairs. The randomness comes from the operating system.
    ///
    /// # Errors
    /// [`Error::Length`] unless `public_keys` holds whole keys; [`Error::ArgumentSize`] if another slice has a
    /// different number of items; the errors listed at [`Batch`].
    pub fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<BatchStatus<M::Error>> {
        let random_key = ringforge::RandomKey::from_os()?;
        self.generate_by(RandomKey, random_key.as_bytes(), public_keys, secret_keys)
    }

    /// Generates key pairs like [`Batch::generate`], but from the caller's `seeds`, [`KEY_SEED`](crate::KEY_SEED) bytes
    /// per item. If a seed yields no key, its item has an error; no other seed is tried. Seeds must be uniform, secret
    /// and used once; otherwise they reveal the keys. This function is for test vectors and for protocols that derive
    /// their seeds.
    ///
    /// # Errors
    /// The errors of [`Batch::generate`].
    #[cfg(feature = "hazmat")]
    pub fn generate_from(
        &self,
        seeds: &[u8],
        public_keys: &mut [u8],
        secret_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        self.generate_by(Randomness::Seeds, seeds, public_keys, secret_keys)
    }

    /// Writes a ciphertext and its shared key for each public key. The randomness comes from the operating system.
    ///
    /// # Errors
    /// [`Error::Length`] unless `public_keys` holds whole keys; [`Error::ArgumentSize`] if another slice has a
    /// different number of items; the errors listed at [`Batch`].
    pub fn encapsulate(
        &self,
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let random_key = ringforge::RandomKey::from_os()?;
        self.encapsulate_by(RandomKey, public_keys, random_key.as_bytes(), ciphertexts, shared_keys)
    }

    /// Encapsulates like [`Batch::encapsulate`], but from the caller's `seeds`,
    /// [`ENCAPSULATION_SEED`](crate::ENCAPSULATION_SEED) bytes per item. The requirements on seeds are those of
    /// [`Batch::generate_from`].
    ///
    /// # Errors
    /// The errors of [`Batch::encapsulate`].
    #[cfg(feature = "hazmat")]
    pub fn encapsulate_from(
        &self,
        seeds: &[u8],
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        self.encapsulate_by(Randomness::Seeds, public_keys, seeds, ciphertexts, shared_keys)
    }

    /// Writes the shared key of each ciphertext to `shared_keys`. Ciphertext i is decapsulated with secret key i.
    ///
    /// # Errors
    /// [`Error::Length`] unless `secret_keys` holds whole keys; [`Error::ArgumentSize`] if another slice has a
    /// different number of items; the errors listed at [`Batch`].
    pub fn decapsulate(
        &self,
        secret_keys: &[u8],
        ciphertexts: &[u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let batch = batch_of("bytes of secret keys", secret_keys.len(), M::SIZES.secret_key)?;
        let inputs = [("secret keys", secret_keys), ("ciphertexts", ciphertexts)];
        self.run_host(Decapsulate, batch, &inputs, [("shared keys", shared_keys, M::SIZES.shared_key)])
    }

    /// Copies public keys to the device and checks each key, if the KEM has a check for public keys. The returned
    /// handle holds the statuses of the checks.
    ///
    /// # Errors
    /// [`Error::Length`] unless `bytes` holds whole keys; the errors listed at [`Batch`].
    pub fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PublicKeys<M>> {
        self.import(stream, bytes, Some((CheckPublicKeys, "public keys")))
    }

    /// Copies secret keys to the device and checks each key, if the KEM has a check for secret keys. The returned
    /// handle holds the statuses of the checks.
    ///
    /// # Errors
    /// [`Error::Length`] unless `bytes` holds whole keys; the errors listed at [`Batch`].
    pub fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<SecretKeys<M>> {
        self.import(stream, bytes, Some((CheckSecretKeys, "secret keys")))
    }

    /// Copies ciphertexts to the device. Unlike keys, they are not checked.
    ///
    /// # Errors
    /// [`Error::Length`] unless `bytes` holds whole ciphertexts; the errors listed at [`Batch`].
    pub fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Ciphertexts<M>> {
        self.import(stream, bytes, None)
    }

    /// Generates `batch` key pairs like [`Batch::generate`], but leaves them on the device.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size of the keys in bytes overflows; the errors listed at [`Batch`].
    pub fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(PublicKeys<M>, SecretKeys<M>)> {
        let (mut public, mut secret) = (PublicKeys::new(stream, batch)?, SecretKeys::new(stream, batch)?);
        let statuses = stream.with_random_key(|random_key| {
            let outputs = [("public keys", &mut public.bytes), ("secret keys", &mut secret.bytes)];
            self.run(stream, Generate(RandomKey), batch, &[("random_key", random_key)], outputs)
        })?;
        Ok((public.with_statuses(&statuses), secret.with_statuses(&statuses)))
    }

    /// Encapsulates like [`Batch::encapsulate`], but on handles: one ciphertext and one shared key per public key. Both
    /// returned handles also report the errors of the public keys.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size of the outputs in bytes overflows; the errors listed at [`Batch`].
    pub fn encapsulate_on(
        &self,
        stream: &Stream,
        public_keys: &PublicKeys<M>,
    ) -> Result<(Ciphertexts<M>, SharedKeys<M>)> {
        let batch = public_keys.len();
        let mut sent = Ciphertexts::new(stream, batch)?.made_from(public_keys);
        let mut shared = SharedKeys::new(stream, batch)?.made_from(public_keys);
        let statuses = stream.with_random_key(|random_key| {
            let inputs = [("public keys", &public_keys.bytes), ("random_key", random_key)];
            let outputs = [("ciphertexts", &mut sent.bytes), ("shared keys", &mut shared.bytes)];
            self.run(stream, Encapsulate(RandomKey), batch, &inputs, outputs)
        })?;
        Ok((sent.with_statuses(&statuses), shared.with_statuses(&statuses)))
    }

    /// Decapsulates like [`Batch::decapsulate`], but on handles. The returned handle also reports the errors of the
    /// secret keys and ciphertexts.
    ///
    /// # Errors
    /// [`Error::ArgumentSize`] unless there is one ciphertext per secret key; [`Error::TooLarge`] if the size of the
    /// shared keys in bytes overflows; the errors listed at [`Batch`].
    pub fn decapsulate_on(
        &self,
        stream: &Stream,
        secret_keys: &SecretKeys<M>,
        ciphertexts: &Ciphertexts<M>,
    ) -> Result<SharedKeys<M>> {
        let batch = secret_keys.len();
        let mut shared = SharedKeys::new(stream, batch)?.made_from(secret_keys).made_from(ciphertexts);
        let inputs = [("secret keys", &secret_keys.bytes), ("ciphertexts", &ciphertexts.bytes)];
        let outputs = [("shared keys", &mut shared.bytes)];
        let statuses = self.run(stream, Decapsulate, batch, &inputs, outputs)?;
        Ok(shared.with_statuses(&statuses))
    }

    /// Returns the compiled program of an operation. With `checked`, the program also checks the input keys, unless the
    /// operation itself writes statuses. Returns `None` if the operation is a key check that the KEM does not need.
    fn program(&self, operation: Operation, checked: bool) -> Result<Option<Program>> {
        let (key, is_needed) = ((TypeId::of::<M>(), operation, checked), Cell::new(true));
        let program = self.engine.program_of(&key, |planner| {
            let plan = operation.plan(M::NAME, &M::steps(planner.limits())?, checked, planner)?;
            is_needed.set(plan.is_some());
            plan.ok_or_else(|| missing::<M>(operation))
        });
        if is_needed.get() { program.map(Some) } else { Ok(None) }
    }

    /// Runs an operation on host memory, with a program that also checks the input keys.
    fn run_host<const N: usize>(
        &self,
        operation: Operation,
        batch: usize,
        inputs: &[(&str, &[u8])],
        outputs: [(&str, &mut [u8], usize); N],
    ) -> Result<BatchStatus<M::Error>> {
        let program = self.program(operation, true)?.ok_or_else(|| missing::<M>(operation))?;
        run_host(&program, batch, inputs, outputs)
    }

    /// Runs an operation on device buffers. Returns the buffer of the statuses that its program wrote, or `None` if it
    /// writes no statuses.
    fn run<const N: usize>(
        &self,
        stream: &Stream,
        operation: Operation,
        batch: usize,
        inputs: &[(&str, &Buffer)],
        outputs: [(&str, &mut Buffer); N],
    ) -> Result<Option<Arc<Buffer>>> {
        let Some(program) = self.program(operation, false)? else { return Ok(None) };
        let call = inputs.iter().fold(program.on(stream, batch), |call, (name, buffer)| call.input(name, buffer));
        let call = outputs.into_iter().fold(call, |call, (name, buffer)| call.output(name, buffer));
        if program.plan().arg(STATUSES).is_none() {
            return call.run().map(|()| None);
        }
        let mut statuses = self.device().buffer(bytes_of(batch, size_of::<u32>())?)?;
        call.output(STATUSES, &mut statuses).run()?;
        Ok(Some(Arc::new(statuses)))
    }

    fn import<K: ItemKind>(
        &self,
        stream: &Stream,
        bytes: &[u8],
        check: Option<(Operation, &str)>,
    ) -> Result<Items<K, M>> {
        let batch = batch_of(K::BYTES, bytes.len(), K::size(&M::SIZES))?;
        let mut items = Items::new(stream, batch)?;
        stream.write(&mut items.bytes, bytes)?;
        let Some((check, name)) = check else { return Ok(items) };
        let statuses = self.run(stream, check, batch, &[(name, &items.bytes)], [])?;
        Ok(items.with_statuses(&statuses))
    }

    fn generate_by(
        &self,
        from: Randomness,
        seeds: &[u8],
        public: &mut [u8],
        secret: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let batch = batch_of("bytes of public keys", public.len(), M::SIZES.public_key)?;
        let outputs = [("public keys", public, M::SIZES.public_key), ("secret keys", secret, M::SIZES.secret_key)];
        self.run_host(Generate(from), batch, &[(from.name(), seeds)], outputs)
    }

    fn encapsulate_by(
        &self,
        from: Randomness,
        public_keys: &[u8],
        seeds: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let batch = batch_of("bytes of public keys", public_keys.len(), M::SIZES.public_key)?;
        let inputs = [("public keys", public_keys), (from.name(), seeds)];
        let outputs =
            [("ciphertexts", ciphertexts, M::SIZES.ciphertext), ("shared keys", shared_keys, M::SIZES.shared_key)];
        self.run_host(Encapsulate(from), batch, &inputs, outputs)
    }
}

fn missing<M: KemScheme>(operation: Operation) -> Error {
    Error::Unsupported { job: format!("{} {operation:?}", M::NAME), why: "the scheme has no steps for it".into() }
}

impl<M: KemScheme> fmt::Debug for Batch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} on {})", M::NAME, self.device())
    }
}
