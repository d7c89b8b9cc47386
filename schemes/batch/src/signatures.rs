//! [`Signatures`]: key generation, signing and verification of a signature scheme on one device.

use core::any::TypeId;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;

use ringforge::run::Repetition;
use ringforge::{Buffer, Device, Engine, Error, Plan, Program, Result, Stream};

use crate::host::run_host;
use crate::items::bytes_of;
use crate::kem_scheme::Randomness::{self, RandomKey, Seeds};
use crate::messages::Messages;
use crate::signature_scheme::SignatureOperation::{
    Attempt, Begin, Generate, Release, Represent, SigningKeys, VerifiedRelease, Verify, VerifyMessages, VerifyingKeys,
};
use crate::signature_scheme::{Keys, Prepared, SignatureOperation, SignatureScheme, SignatureSizes};
use crate::sizes::batch_of;
use crate::status::{BatchStatus, NOT_REACHED};

/// Bytes of the representative of a message, and of the hash of a public key.
const HASH: usize = 64;
/// The most items of a run over host memory; more items run one part after another.
const PART: usize = 1 << 16;

/// A signature scheme on one device: key generation, signing and verification of many items per call.
///
/// Every function accepts batches of any size, including 0. The outputs of an item depend only on its own inputs and
/// randomness, not on other items. An `Err` means that the whole call failed. An invalid item is reported in the
/// [`BatchStatus`] instead, and its outputs are zero.
///
/// Signing is hedged: the randomness of each signature comes from the operating system, and also from the key and the
/// message. The number of attempts at a signature is not secret.
///
/// A function on host memory returns [`Error::Length`] unless its slices hold whole items, and [`Error::ArgumentSize`] if
/// they have different numbers of items. Every function may return [`Error::OutOfMemory`], or [`Error::Driver`] if a
/// driver call fails, and signing and key generation [`Error::Unsupported`] if the system provides no randomness.
pub struct Signatures<M> {
    engine: Engine,
    attempts: [Repetition; 2],
    /// Whether signatures are verified before they are released.
    verifies: bool,
    scheme: PhantomData<fn() -> M>,
}

/// Keys of a signature scheme on a device, expanded so that each signature needs less work. One key serves any number of
/// items; several serve as many items. Secret keys are wiped on drop.
pub struct PreparedKeys<M> {
    /// The secret keys themselves, for signing.
    secret_keys: Option<Buffer>,
    parts: Prepared<Buffer>,
    count: usize,
    scheme: PhantomData<fn() -> M>,
}

impl<M> PreparedKeys<M> {
    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether all of `batch` items have the same key.
    fn keys(&self, batch: usize) -> Result<Keys> {
        match self.count {
            1 => Ok(Keys::One),
            count if count == batch => Ok(Keys::PerItem),
            count => Err(Error::Length { what: "messages, as many as keys", expected: count, got: batch }),
        }
    }
}

impl<M: SignatureScheme> Signatures<M> {
    /// Creates the signature scheme on an engine, and compiles the programs of attempts. All other programs are compiled
    /// on first use. The engine caches them.
    ///
    /// # Errors
    /// The errors of [`Engine::program_of`] and [`Engine::repeat`].
    pub fn new(engine: &Engine) -> Result<Self> {
        let [one, each] = [Keys::One, Keys::PerItem].map(|keys| {
            let p = engine.pipeline(format!("{} {:?}", M::NAME, Attempt(keys)));
            Attempt(keys).add::<M>(&p)?;
            engine.repeat(p, M::ATTEMPTS)
        });
        Ok(Self { engine: engine.clone(), attempts: [one?, each?], verifies: true, scheme: PhantomData })
    }

    /// The same scheme, but its signatures are released without verification. They are verified by default, because a
    /// signature that a faulty device has made can reveal the key.
    #[must_use]
    pub fn without_verification(self) -> Self {
        Self { verifies: false, ..self }
    }

    /// Sizes of keys and signatures, in bytes.
    #[must_use]
    pub fn sizes(&self) -> SignatureSizes {
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
    /// The errors listed at [`Signatures`].
    pub fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<BatchStatus<M::Error>> {
        let random_key = ringforge::RandomKey::from_os()?;
        self.generate_by(RandomKey, random_key.as_bytes(), public_keys, secret_keys)
    }

    /// Generates key pairs like [`Signatures::generate`], but from the caller's seeds, [`SignatureSizes::seed`] bytes for
    /// each. Seeds must be uniform, secret and used once; otherwise they reveal the keys.
    ///
    /// # Errors
    /// The errors of [`Signatures::generate`].
    #[cfg(feature = "hazmat")]
    pub fn generate_from(
        &self,
        seeds: &[u8],
        public_keys: &mut [u8],
        secret_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        self.generate_by(Seeds, seeds, public_keys, secret_keys)
    }

    /// Signs each message, with its own secret key or with the only one. An item whose attempts have all failed has
    /// the error [`NoAttemptLeft`](crate::ErrorKind::NoAttemptLeft).
    ///
    /// # Errors
    /// The errors listed at [`Signatures`].
    pub fn sign(
        &self,
        secret_keys: &[u8],
        messages: &Messages<'_>,
        signatures: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        self.sign_by(secret_keys, messages, None, signatures)
    }

    /// Signs like [`Signatures::sign`], but with the caller's randomness, [`SignatureSizes::seed`] bytes for each message.
    /// Zeros give the deterministic variant of FIPS 204, which is weaker against faults of the hardware.
    ///
    /// # Errors
    /// The errors of [`Signatures::sign`].
    #[cfg(feature = "hazmat")]
    pub fn sign_from(
        &self,
        seeds: &[u8],
        secret_keys: &[u8],
        messages: &Messages<'_>,
        signatures: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        self.sign_by(secret_keys, messages, Some(seeds), signatures)
    }

    /// Verifies the signature of each message, with its own public key or with the only one.
    ///
    /// # Errors
    /// The errors listed at [`Signatures`].
    pub fn verify(
        &self,
        public_keys: &[u8],
        messages: &Messages<'_>,
        signatures: &[u8],
    ) -> Result<BatchStatus<M::Error>> {
        let (batch, sizes) = (messages.len(), M::SIZES);
        same_number("signatures", batch, signatures.len(), sizes.signature)?;
        let keys = each_or_one(public_keys, sizes.public_key, "bytes of public keys", batch)?;
        let verify = |slot, numbers: &[usize], public_keys: &[u8], signatures: &[u8]| {
            let slots = messages.slots(slot, numbers);
            let program = self.program(VerifyMessages(keys, slot))?;
            let mut statuses = vec![NOT_REACHED; numbers.len()];
            let call = program.on_host(numbers.len()).input("public keys", public_keys).input("messages", &slots);
            call.input("signatures", signatures).output("statuses", &mut statuses).run().map(|()| statuses)
        };
        let groups = messages.by_slot();
        if let [(slot, numbers)] = &groups[..] {
            return Ok(BatchStatus::of(&verify(*slot, numbers, public_keys, signatures)?));
        }
        // messages of very different lengths: one run for each size of their slots
        let mut statuses = vec![NOT_REACHED; batch];
        for (slot, numbers) in groups {
            let own = |all: &[u8], size| -> Vec<u8> {
                numbers.iter().flat_map(|&i| &all[i * size..][..size]).copied().collect()
            };
            let own_keys = if keys.is_one() { public_keys.to_vec() } else { own(public_keys, sizes.public_key) };
            let found = verify(slot, &numbers, &own_keys, &own(signatures, sizes.signature))?;
            numbers.iter().zip(found).for_each(|(&number, status)| statuses[number] = status);
        }
        Ok(BatchStatus::of(&statuses))
    }

    /// Copies secret keys to the device and expands them.
    ///
    /// # Errors
    /// [`Error::Length`] unless `bytes` holds whole keys; the errors listed at [`Signatures`].
    pub fn signing_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PreparedKeys<M>> {
        self.signing_keys_on(stream, stream.upload_secret(bytes)?)
    }

    /// Expands secret keys that are on the device, in a [buffer for secrets](Stream::secret_buffer).
    ///
    /// # Errors
    /// [`Error::Length`] unless the buffer holds whole keys; the errors listed at [`Signatures`].
    pub fn signing_keys_on(&self, stream: &Stream, secret_keys: Buffer) -> Result<PreparedKeys<M>> {
        let count = batch_of("bytes of secret keys", secret_keys.len(), M::SIZES.secret_key)?;
        let prepared = self.prepared(stream, SigningKeys, ("secret keys", &secret_keys), count)?;
        Ok(PreparedKeys { secret_keys: Some(secret_keys), ..prepared })
    }

    /// Copies public keys to the device and expands them.
    ///
    /// # Errors
    /// [`Error::Length`] unless `bytes` holds whole keys; the errors listed at [`Signatures`].
    pub fn verifying_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PreparedKeys<M>> {
        self.verifying_keys_on(stream, &stream.upload(bytes)?)
    }

    /// Expands public keys that are on the device.
    ///
    /// # Errors
    /// [`Error::Length`] unless the buffer holds whole keys; the errors listed at [`Signatures`].
    pub fn verifying_keys_on(&self, stream: &Stream, public_keys: &Buffer) -> Result<PreparedKeys<M>> {
        let count = batch_of("bytes of public keys", public_keys.len(), M::SIZES.public_key)?;
        self.prepared(stream, VerifyingKeys, ("public keys", public_keys), count)
    }

    /// Generates `batch` key pairs like [`Signatures::generate`], but leaves them on the device: public keys, and secret
    /// keys in a buffer for secrets.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size of the keys in bytes overflows; the errors listed at [`Signatures`].
    pub fn generate_on(&self, stream: &Stream, batch: usize) -> Result<[Buffer; 2]> {
        let mut public = stream.device().buffer(bytes_of(batch, M::SIZES.public_key)?)?;
        let mut secret = stream.secret_buffer(bytes_of(batch, M::SIZES.secret_key)?)?;
        let program = self.program(Generate(RandomKey))?;
        stream.with_random_key(|random_key| {
            let call = program.on(stream, batch).input(RandomKey.name(), random_key);
            call.output("public keys", &mut public).output("secret keys", &mut secret).run()
        })?;
        Ok([public, secret])
    }

    /// Computes the representative of each message, the hash that is signed: 64 bytes for each.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one key, or one for each message; the errors listed at [`Signatures`].
    pub fn represent_on(&self, stream: &Stream, keys: &PreparedKeys<M>, messages: &Messages<'_>) -> Result<Buffer> {
        let each = keys.keys(messages.len())?;
        let all = |stream: &Stream, hashes: &Buffer, slot, numbers: &[usize]| {
            let slots = stream.upload(&messages.slots(slot, numbers))?;
            let mut made = stream.device().buffer(HASH * numbers.len())?;
            let program = self.program(Represent(each, slot))?;
            let call = program.on(stream, numbers.len()).input("hashes", hashes).input("messages", &slots);
            call.output("representatives", &mut made).run().map(|()| made)
        };
        let groups = messages.by_slot();
        if let [(slot, numbers)] = &groups[..] {
            return all(stream, &keys.parts.hash, *slot, numbers);
        }
        // messages of very different lengths: one run for each size of their slots
        let mut representatives = vec![[0u8; HASH]; messages.len()];
        let hashes: Vec<[u8; HASH]> = stream.download(&keys.parts.hash)?;
        for (slot, numbers) in groups {
            let own: Vec<_> = if each.is_one() { hashes.clone() } else { numbers.iter().map(|&i| hashes[i]).collect() };
            let made: Vec<[u8; HASH]> = stream.download(&all(stream, &stream.upload(&own)?, slot, &numbers)?)?;
            numbers.iter().zip(made).for_each(|(&number, made)| representatives[number] = made);
        }
        stream.upload(&representatives)
    }

    /// Signs the representatives, 64 bytes each, with prepared keys. Returns the signatures and their statuses, which the
    /// caller must check: a word for each, [`OK`](crate::OK) if there is a signature.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one key, or one for each representative; [`Error::Arguments`] for the keys of
    /// verification; the errors listed at [`Signatures`].
    pub fn sign_on(&self, stream: &Stream, keys: &PreparedKeys<M>, representatives: &Buffer) -> Result<[Buffer; 2]> {
        let batch = batch_of("bytes of representatives", representatives.len(), HASH)?;
        stream
            .with_random_key(|random_key| self.sign_with(stream, keys, representatives, batch, (RandomKey, random_key)))
    }

    /// Signs like [`Signatures::sign_on`], but with the caller's randomness, as [`Signatures::sign_from`] takes it. Pass
    /// it in a buffer for secrets, such as one of [`Stream::upload_secret`].
    ///
    /// # Errors
    /// [`Error::ArgumentSize`] unless there are [`SignatureSizes::seed`] bytes for each representative; the errors of
    /// [`Signatures::sign_on`].
    #[cfg(feature = "hazmat")]
    pub fn sign_on_from(
        &self,
        stream: &Stream,
        seeds: &Buffer,
        keys: &PreparedKeys<M>,
        representatives: &Buffer,
    ) -> Result<[Buffer; 2]> {
        let batch = batch_of("bytes of representatives", representatives.len(), HASH)?;
        self.sign_with(stream, keys, representatives, batch, (Seeds, seeds))
    }

    /// Verifies signatures of representatives with prepared keys. Returns their statuses, which the caller must check: a
    /// word for each, [`OK`](crate::OK) for a valid signature.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one key, or one for each representative; the errors listed at [`Signatures`].
    pub fn verify_on(
        &self,
        stream: &Stream,
        keys: &PreparedKeys<M>,
        representatives: &Buffer,
        signatures: &Buffer,
    ) -> Result<Buffer> {
        let batch = batch_of("bytes of representatives", representatives.len(), HASH)?;
        let program = self.program(Verify(keys.keys(batch)?))?;
        let mut statuses = stream.device().buffer(bytes_of(batch, size_of::<u32>())?)?;
        let call = program.on(stream, batch).input("representatives", representatives).input("signatures", signatures);
        let call = call.input("common", &keys.parts.common).input("public", &keys.parts.public);
        call.output("statuses", &mut statuses).run().map(|()| statuses)
    }

    fn sign_with(
        &self,
        stream: &Stream,
        keys: &PreparedKeys<M>,
        representatives: &Buffer,
        batch: usize,
        (from, random): (Randomness, &Buffer),
    ) -> Result<[Buffer; 2]> {
        let each = keys.keys(batch)?;
        let begin = self.program(Begin(each, from))?;
        let mut seeds = stream.secret_buffer(bytes_of(batch, output_bytes(begin.plan(), "seeds of attempts"))?)?;
        let call = keys.secret_keys.iter().fold(begin.on(stream, batch), |call, keys| call.input("secret keys", keys));
        let call = call.input(from.name(), random).input("representatives", representatives);
        call.output("seeds of attempts", &mut seeds).run()?;

        let attempts = &self.attempts[usize::from(!each.is_one())];
        let buffer = |bytes| stream.device().buffer(bytes_of(batch, bytes)?);
        let (mut slots, mut attempted) = (buffer(output_bytes(attempts.plan(), "slots"))?, buffer(size_of::<u32>())?);
        let call = attempts.on(stream, batch).input("representatives", representatives);
        let call = call.input("common", &keys.parts.common).input("seeds of attempts", &seeds);
        let call = keys.parts.secret.iter().fold(call, |call, secret| call.input("secret", secret));
        call.output("slots", &mut slots).output("statuses", &mut attempted).run()?;

        let release = self.program(if self.verifies { VerifiedRelease(each) } else { Release })?;
        let [mut signatures, mut statuses] = [buffer(M::SIZES.signature)?, buffer(size_of::<u32>())?];
        let mut call = release.on(stream, batch).input("slots", &slots).input("attempted", &attempted);
        if self.verifies {
            call = call.input("common", &keys.parts.common).input("public", &keys.parts.public);
            call = call.input("representatives", representatives);
        }
        call.output("signatures", &mut signatures).output("statuses", &mut statuses).run()?;
        Ok([signatures, statuses])
    }

    fn sign_by(
        &self,
        secret_keys: &[u8],
        messages: &Messages<'_>,
        seeds: Option<&[u8]>,
        signatures: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let (batch, size, seed) = (messages.len(), M::SIZES.signature, M::SIZES.seed);
        same_number("signatures", batch, signatures.len(), size)?;
        seeds.map_or(Ok(()), |seeds| same_number("seeds", batch, seeds.len(), seed))?;
        let stream = self.device().stream()?;
        let mut sign = |keys: &[u8], items: Range<usize>| {
            let keys = self.signing_keys(&stream, keys)?;
            let representatives = self.represent_on(&stream, &keys, &messages.range(items.clone()))?;
            let [made, statuses] = match seeds {
                None => self.sign_on(&stream, &keys, &representatives)?,
                Some(seeds) => {
                    let seeds = stream.upload_secret(&seeds[items.start * seed..items.end * seed])?;
                    self.sign_with(&stream, &keys, &representatives, items.len(), (Seeds, &seeds))?
                }
            };
            let statuses = stream.download::<u32>(&statuses)?;
            stream.read(&made, &mut signatures[items.start * size..items.end * size]).map(|()| statuses)
        };
        let size = M::SIZES.secret_key;
        let keys = each_or_one(secret_keys, size, "bytes of secret keys", batch)?;
        let keys_of = |items: &Range<usize>| match keys {
            Keys::One => secret_keys,
            Keys::PerItem => &secret_keys[items.start * size..items.end * size],
        };
        let parts = (0..batch).step_by(PART).map(|start| start..batch.min(start + PART));
        let statuses = parts.map(|items| sign(keys_of(&items), items)).collect::<Result<Vec<_>>>();
        match statuses {
            Ok(statuses) => {
                let status = BatchStatus::of(&statuses.concat());
                status.clear(signatures, M::SIZES.signature);
                Ok(status)
            }
            Err(error) => {
                signatures.fill(0);
                Err(error)
            }
        }
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
        run_host(&self.program(Generate(from))?, batch, &[(from.name(), seeds)], outputs)
    }

    fn program(&self, operation: SignatureOperation) -> Result<Program> {
        self.engine.program_of(&(TypeId::of::<M>(), operation), |planner| operation.plan::<M>(planner))
    }

    /// `count` keys, expanded by `operation`.
    fn prepared(
        &self,
        stream: &Stream,
        operation: SignatureOperation,
        (name, keys): (&str, &Buffer),
        count: usize,
    ) -> Result<PreparedKeys<M>> {
        let program = self.program(operation)?;
        let buffer = |name| {
            let secret = program.plan().arg(name).is_some_and(|arg| arg.secret);
            let bytes = bytes_of(count, output_bytes(program.plan(), name))?;
            if secret { stream.secret_buffer(bytes) } else { stream.device().buffer(bytes) }
        };
        let secret = program.plan().arg("secret").map(|_| buffer("secret")).transpose()?;
        let (hash, common, public) = (buffer("hashes")?, buffer("common")?, buffer("public")?);
        let mut parts = Prepared { hash, common, public, secret };
        let call = program.on(stream, count).input(name, keys).output("hashes", &mut parts.hash);
        let call = call.output("common", &mut parts.common).output("public", &mut parts.public);
        parts.secret.iter_mut().fold(call, |call, secret| call.output("secret", secret)).run()?;
        Ok(PreparedKeys { secret_keys: None, parts, count, scheme: PhantomData })
    }
}

/// Bytes per item of an output of a plan.
fn output_bytes(plan: &Plan, name: &str) -> usize {
    plan.arg(name).map_or(0, |arg| arg.bytes)
}

/// Checks that `bytes` is the size of `batch` items of `size` bytes each.
fn same_number(what: &str, batch: usize, bytes: usize, size: usize) -> Result<()> {
    let expected = bytes_of(batch, size)?;
    if bytes == expected {
        return Ok(());
    }
    Err(Error::ArgumentSize { argument: what.into(), batch, expected, got: bytes })
}

/// Whether these are the keys of `batch` items, or their only key.
fn each_or_one(keys: &[u8], size: usize, what: &'static str, batch: usize) -> Result<Keys> {
    match batch_of(what, keys.len(), size)? {
        1 => Ok(Keys::One),
        count if count == batch => Ok(Keys::PerItem),
        _ => Err(Error::ArgumentSize { argument: "keys".into(), batch, expected: size * batch, got: keys.len() }),
    }
}

impl<M: SignatureScheme> fmt::Debug for Signatures<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signatures({} on {})", M::NAME, self.device())
    }
}

impl<M: SignatureScheme> fmt::Debug for PreparedKeys<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} prepared keys of {}", self.count, M::NAME)
    }
}
