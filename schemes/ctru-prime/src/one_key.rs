//! One key for many operations, its transform made once.

use core::fmt;
use core::marker::PhantomData;

use ringforge::{Buffer, Device, Error, Plan, Program, Result, Stream};
use ringforge_batch::{Reason, SharedKeys};

use crate::params::ParameterSet;
use crate::plans::Plans;
use crate::product::Way;
use crate::single::check_secret_key;

/// A parameter set made ready on a device for one key that serves many items: the same bytes as a
/// [`Batch`](crate::Batch) gives for as many copies of the key, sooner.
///
/// ```
/// use ringforge::Device;
/// use ringforge_ctru_prime::{Batch, CtruPrime653, OneKey};
/// use ringforge_batch::{BatchKem, Resident};
///
/// let (device, stream) = (Device::cpu(), Device::cpu().stream()?);
/// let kem = Batch::<CtruPrime653>::new(&device)?;
/// let (mut public_key, mut secret_key) = (vec![0; kem.sizes().public_key], vec![0; kem.sizes().secret_key]);
/// kem.generate(&mut public_key, &mut secret_key)?.all()?;
///
/// let one = OneKey::<CtruPrime653>::new(&device)?;
/// # let stream = device.stream()?;
/// let (ciphertexts, sent) = one.encapsulate(&stream, &one.public_key(&stream, &public_key)?, 3)?;
/// let received = one.decapsulate(&stream, &one.secret_key(&stream, &secret_key)??, &ciphertexts)?;
///
/// let (mut here, mut there) = ([0; 3 * 32], [0; 3 * 32]);
/// sent.export(&stream, &mut here)?.all()?;
/// received.export(&stream, &mut there)?.all()?;
/// assert_eq!(here, there);
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
    secret: Buffer,
    public: PreparedPublicKey<P>,
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

    /// Checks a secret key and makes it ready, or says what is wrong with it.
    ///
    /// # Errors
    /// As [`OneKey::public_key`].
    pub fn secret_key(&self, stream: &Stream, key: &[u8]) -> Result<Result<PreparedSecretKey<P>, Reason>> {
        let p = P::PARAMETERS;
        if let Some(why) = check_secret_key::<P>(key)? {
            return Ok(Err(why));
        }
        let public = self.public_key(stream, p.parts(key)[1])?;
        let key = stream.upload_secret(key)?;
        let mut secret = stream.secret_buffer(self.way.prepared_secret_bytes(&p))?;
        self.prepare_secret.run(stream, 1, &mut [(&key).into(), (&mut secret).into()])?;
        Ok(Ok(PreparedSecretKey { secret, public }))
    }

    /// New ciphertexts, and the shared keys in them, which are wiped when dropped.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they cannot be addressed; as [`Program::run`].
    pub fn encapsulate(
        &self,
        stream: &Stream,
        key: &PreparedPublicKey<P>,
        batch: usize,
    ) -> Result<(Buffer, SharedKeys)> {
        let size = P::PARAMETERS.ciphertext_bytes();
        let limit = usize::MAX / size;
        let bytes = batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit, got: batch })?;
        let (mut ciphertexts, mut shared_keys) = (stream.device().buffer(bytes)?, SharedKeys::new::<P>(stream, batch)?);
        stream.with_draws(|draws| {
            let (sent, shared) = ((&mut ciphertexts).into(), shared_keys.bytes_mut().into());
            self.encapsulate.run(stream, batch, &mut [(&key.0).into(), draws.into(), sent, shared])
        })?;
        Ok((ciphertexts, shared_keys))
    }

    /// The shared keys in ciphertexts, which are wiped when dropped.
    ///
    /// # Errors
    /// [`Error::Length`] unless the ciphertexts are whole; as [`Program::run`].
    pub fn decapsulate(&self, stream: &Stream, key: &PreparedSecretKey<P>, ciphertexts: &Buffer) -> Result<SharedKeys> {
        let size = P::PARAMETERS.ciphertext_bytes();
        let batch = ciphertexts.len() / size;
        length("bytes of ciphertexts", ciphertexts.len(), batch * size)?;
        let mut shared_keys = SharedKeys::new::<P>(stream, batch)?;
        let (secret, public) = (&key.secret, &key.public.0);
        let args = &mut [secret.into(), public.into(), ciphertexts.into(), shared_keys.bytes_mut().into()];
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
