//! One key for many operations, its transform made once.

use core::fmt;
use core::marker::PhantomData;

use ringforge::{Buffer, Device, Error, Plan, Program, Result, Stream};

use crate::params::{ParameterSet, SEED_BYTES};
use crate::plans::Plans;
use crate::product::Way;

/// A parameter set made ready on a device for one key that serves many items: the same bytes as a
/// [`Batch`](crate::Batch) gives for as many copies of the key, sooner.
///
/// ```
/// use ringforge::Device;
/// use ringforge_ctru_prime::{Batch, CtruPrime653, OneKey};
/// use ringforge_batch::BatchKem;
///
/// let (device, stream) = (Device::cpu(), Device::cpu().stream()?);
/// let kem = Batch::<CtruPrime653>::new(&device)?;
/// let (mut public_key, mut secret_key) = (vec![0; kem.sizes().public_key], vec![0; kem.sizes().secret_key]);
/// kem.generate(&mut public_key, &mut secret_key)?.all()?;
///
/// let one = OneKey::<CtruPrime653>::new(&device)?;
/// # let stream = device.stream()?;
/// let [ciphertexts, sent] = one.encapsulate(&stream, &one.public_key(&stream, &public_key)?, 3)?;
/// let received = one.decapsulate(&stream, &one.secret_key(&stream, &secret_key)?, &ciphertexts)?;
/// assert_eq!(stream.download::<u8>(&sent)?, stream.download::<u8>(&received)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OneKey<P> {
    way: Way,
    prepare_public: Program,
    prepare_secret: Program,
    encapsulate: Program,
    decapsulate: Program,
    set: PhantomData<fn() -> P>,
}

/// A public key on a device, made ready by [`OneKey::public_key`].
pub struct PreparedPublicKey<P>(Buffer, PhantomData<fn() -> P>);

/// A secret key on a device, made ready by [`OneKey::secret_key`] and wiped when dropped.
pub struct PreparedSecretKey<P> {
    secret: Secret,
    public: PreparedPublicKey<P>,
}

/// Bytes that are wiped when dropped.
struct Secret(Stream, Buffer);

impl Drop for Secret {
    fn drop(&mut self) {
        // nobody is left to hear of a device that no longer answers
        let _ = self.0.wipe(&mut self.1);
    }
}

impl<P: ParameterSet> OneKey<P> {
    /// Makes the programs ready.
    ///
    /// # Errors
    /// As [`Device::compile`].
    pub fn new(device: &Device) -> Result<Self> {
        let plans = Plans::new(&P::PARAMETERS, device.limits());
        let compile = |plan: Result<Plan>| device.compile(&plan?);
        Ok(Self {
            way: plans.way(),
            prepare_public: compile(plans.prepare_public())?,
            prepare_secret: compile(plans.prepare_secret())?,
            encapsulate: compile(plans.encapsulate_to_one())?,
            decapsulate: compile(plans.decapsulate_with_one())?,
            set: PhantomData,
        })
    }

    /// Makes a public key ready. Any bytes are one.
    ///
    /// # Errors
    /// [`Error::Length`] unless it has the set's length; as [`Program::run`].
    pub fn public_key(&self, stream: &Stream, key: &[u8]) -> Result<PreparedPublicKey<P>> {
        let p = P::PARAMETERS;
        length("bytes of a public key", key.len(), p.public_key_bytes())?;
        let key = stream.upload(key)?;
        let mut prepared = stream.device().buffer(self.way.prepared_public_bytes(&p))?;
        self.prepare_public.run(stream, 1, &mut [(&key).into(), (&mut prepared).into()])?;
        Ok(PreparedPublicKey(prepared, PhantomData))
    }

    /// Makes a secret key ready. It is not checked: see [`check_secret_key`](crate::check_secret_key).
    ///
    /// # Errors
    /// As [`OneKey::public_key`].
    pub fn secret_key(&self, stream: &Stream, key: &[u8]) -> Result<PreparedSecretKey<P>> {
        let p = P::PARAMETERS;
        length("bytes of a secret key", key.len(), p.secret_key_bytes())?;
        let public = self.public_key(stream, p.parts(key)[1])?;
        let key = Secret(stream.clone(), stream.upload(key)?);
        let mut secret = Secret(stream.clone(), stream.device().buffer(self.way.prepared_secret_bytes(&p))?);
        self.prepare_secret.run(stream, 1, &mut [(&key.1).into(), (&mut secret.1).into()])?;
        Ok(PreparedSecretKey { secret, public })
    }

    /// New ciphertexts, and the shared keys in them, which are the caller's to wipe.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they cannot be addressed; as [`Program::run`].
    pub fn encapsulate(&self, stream: &Stream, key: &PreparedPublicKey<P>, batch: usize) -> Result<[Buffer; 2]> {
        let size = P::PARAMETERS.ciphertext_bytes();
        let limit = usize::MAX / size;
        let bytes = batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit, got: batch })?;
        let mut made = [stream.device().buffer(bytes)?, stream.device().buffer(batch * SEED_BYTES)?];
        let [ciphertexts, shared_keys] = &mut made;
        stream.with_draws(|draws| {
            let args = &mut [(&key.0).into(), draws.into(), ciphertexts.into(), shared_keys.into()];
            self.encapsulate.run(stream, batch, args)
        })?;
        Ok(made)
    }

    /// The shared keys in ciphertexts, which are the caller's to wipe.
    ///
    /// # Errors
    /// [`Error::Length`] unless the ciphertexts are whole; as [`Program::run`].
    pub fn decapsulate(&self, stream: &Stream, key: &PreparedSecretKey<P>, ciphertexts: &Buffer) -> Result<Buffer> {
        let size = P::PARAMETERS.ciphertext_bytes();
        let batch = ciphertexts.len() / size;
        length("bytes of ciphertexts", ciphertexts.len(), batch * size)?;
        let mut shared_keys = stream.device().buffer(batch * SEED_BYTES)?;
        let (secret, public) = (&key.secret.1, &key.public.0);
        let args = &mut [secret.into(), public.into(), ciphertexts.into(), (&mut shared_keys).into()];
        self.decapsulate.run(stream, batch, args)?;
        Ok(shared_keys)
    }
}

fn length(what: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

impl<P: ParameterSet> fmt::Debug for OneKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OneKey({} on {})", P::NAME, self.encapsulate.device())
    }
}

impl<P: ParameterSet> fmt::Debug for PreparedPublicKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedPublicKey({})", P::NAME)
    }
}

impl<P: ParameterSet> fmt::Debug for PreparedSecretKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedSecretKey({})", P::NAME)
    }
}
