//! One key for many operations, its transform made once.

use core::fmt;
use core::marker::PhantomData;

use ringforge::{Buffer, Device, Error, Plan, Planner, Program, Result, Stream};
use ringforge_batch::{Randomness, SharedKeys, batch_of};

use crate::error::KeyError;
use crate::params::ParameterSet;
use crate::plans::PrimeSteps;
use crate::product::Way;
use crate::single::{check_secret_key, length};

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
/// kem.generate(&mut public_key, &mut secret_key)?.into_result()?;
///
/// let one = OneKey::<CtruPrime653>::new(&device)?;
/// # let stream = device.stream()?;
/// let (ciphertexts, sent) = one.encapsulate(&stream, &one.public_key(&stream, &public_key)?, 3)?;
/// let received = one.decapsulate(&stream, &one.secret_key(&stream, &secret_key)??, &ciphertexts)?;
///
/// let (mut here, mut there) = ([0; 3 * 32], [0; 3 * 32]);
/// sent.export(&stream, &mut here)?.into_result()?;
/// received.export(&stream, &mut there)?.into_result()?;
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
        let (steps, planner) = (PrimeSteps::new(P::PARAMETERS), Planner::new(device.limits().clone()));
        let compile = |plan: Result<Plan>| device.compile(&plan?);
        Ok(Self {
            way: steps.way(device.limits()),
            prepare_public: compile(steps.prepare_public(&planner))?,
            prepare_secret: compile(steps.prepare_secret(&planner))?,
            encapsulate: compile(steps.encapsulate_to_one(Randomness::Draws, &planner))?,
            decapsulate: compile(steps.decapsulate_with_one(&planner))?,
            set: PhantomData,
        })
    }

    /// Makes a public key ready. Any bytes are one.
    ///
    /// # Errors
    /// [`Error::Length`] unless it has the set's length; as [`Call::run`](ringforge::run::Call::run).
    pub fn public_key(&self, stream: &Stream, key: &[u8]) -> Result<PreparedPublicKey<P>> {
        let p = P::PARAMETERS;
        length("bytes of a public key", key, p.public_key_bytes())?;
        let key = stream.upload(key)?;
        let mut prepared = stream.device().buffer(self.way.prepared_public_bytes(&p))?;
        let call = self.prepare_public.on(stream, 1).input("public keys", &key);
        call.output("prepared public keys", &mut prepared).run()?;
        Ok(PreparedPublicKey(prepared, PhantomData))
    }

    /// Checks a secret key and makes it ready, or says what is wrong with it.
    ///
    /// # Errors
    /// As [`OneKey::public_key`].
    pub fn secret_key(&self, stream: &Stream, key: &[u8]) -> Result<Result<PreparedSecretKey<P>, KeyError>> {
        let p = P::PARAMETERS;
        if let Some(why) = check_secret_key::<P>(key)? {
            return Ok(Err(why));
        }
        let public = self.public_key(stream, p.parts(key)[1])?;
        let key = stream.upload_secret(key)?;
        let mut secret = stream.secret_buffer(self.way.prepared_secret_bytes(&p))?;
        let call = self.prepare_secret.on(stream, 1).input("secret keys", &key);
        call.output("prepared secret keys", &mut secret).run()?;
        Ok(Ok(PreparedSecretKey { secret, public }))
    }

    /// New ciphertexts, and the shared keys in them, which are wiped when dropped.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they cannot be addressed; as [`Call::run`](ringforge::run::Call::run).
    pub fn encapsulate(
        &self,
        stream: &Stream,
        key: &PreparedPublicKey<P>,
        batch: usize,
    ) -> Result<(Buffer, SharedKeys<KeyError>)> {
        let size = P::PARAMETERS.ciphertext_bytes();
        let limit = usize::MAX / size;
        let bytes = batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit, got: batch })?;
        let (mut ciphertexts, mut shared_keys) = (stream.device().buffer(bytes)?, SharedKeys::new::<P>(stream, batch)?);
        stream.with_draws(|draws| {
            let call = self.encapsulate.on(stream, batch).input("prepared public key", &key.0).input("draws", draws);
            call.output("ciphertexts", &mut ciphertexts).output("shared keys", shared_keys.bytes_mut()).run()
        })?;
        Ok((ciphertexts, shared_keys))
    }

    /// The shared keys in ciphertexts, which are wiped when dropped.
    ///
    /// # Errors
    /// [`Error::Length`] unless the ciphertexts are whole; as [`Call::run`](ringforge::run::Call::run).
    pub fn decapsulate(
        &self,
        stream: &Stream,
        key: &PreparedSecretKey<P>,
        ciphertexts: &Buffer,
    ) -> Result<SharedKeys<KeyError>> {
        let batch = batch_of("bytes of ciphertexts", ciphertexts.len(), P::PARAMETERS.ciphertext_bytes())?;
        let mut shared_keys = SharedKeys::new::<P>(stream, batch)?;
        let call = self.decapsulate.on(stream, batch).input("prepared secret key", &key.secret);
        let call = call.input("prepared public key", &key.public.0).input("ciphertexts", ciphertexts);
        call.output("shared keys", shared_keys.bytes_mut()).run()?;
        Ok(shared_keys)
    }
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
