//! Encapsulation and decapsulation in batches with a single key, which is unpacked and transformed only once.

use core::any::TypeId;
use core::marker::PhantomData;

use ringforge::{Buffer, Engine, Program, Result, Stream};
use ringforge_batch::{Ciphertexts, Randomness, SharedKeys};
use ringforge_e8::KeyError;

use crate::kernels::PrimeSteps;
use crate::plans::Prepared;
use crate::product::Way;
use crate::sets::ParameterSet;
use crate::single::{check_secret_key, length};

/// The operations of a parameter set with one key for all items, compiled for a device. They give the results of a
/// [`Batch`](crate::Batch) in which every item has a copy of the key, in less time.
///
/// ```
/// use ringforge::Engine;
/// use ringforge_ctru_prime::{Batch, CtruPrime653, OneKey};
///
/// let engine = Engine::best(); // a CUDA GPU where there is one, else the CPU
/// let stream = engine.device().stream()?;
/// let kem = Batch::<CtruPrime653>::new(&engine)?;
/// let (mut public_key, mut secret_key) = (vec![0; kem.sizes().public_key], vec![0; kem.sizes().secret_key]);
/// kem.generate(&mut public_key, &mut secret_key)?.into_result()?;
///
/// let one = OneKey::<CtruPrime653>::new(&engine)?;
/// let (ciphertexts, sent) = one.encapsulate(&stream, &one.public_key(&stream, &public_key)?, 3)?;
/// let received = one.decapsulate(&stream, &one.secret_key(&stream, &secret_key)??, &ciphertexts)?;
///
/// let (mut here, mut there) = ([0; 3 * 32], [0; 3 * 32]);
/// sent.export(&stream, &mut here)?.into_result()?;
/// received.export(&stream, &mut there)?.into_result()?;
/// assert_eq!(here, there);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OneKey<P> {
    engine: Engine,
    way: Way,
    set: PhantomData<fn() -> P>,
}

/// A public key on a device, with its polynomial h as an operand of products; made by [`OneKey::public_key`].
#[derive(Debug)]
pub struct PreparedPublicKey<P>(Buffer, PhantomData<fn() -> P>);

/// A secret key on a device, with its polynomial f as an operand of products; made by [`OneKey::secret_key`]. Wiped
/// when dropped.
#[derive(Debug)]
pub struct PreparedSecretKey<P> {
    secret: Buffer,
    public: PreparedPublicKey<P>,
}

impl<P: ParameterSet> OneKey<P> {
    /// Compiles the programs, which the engine caches.
    ///
    /// # Errors
    /// The errors of [`Engine::program_of`] if a program cannot be planned or compiled.
    pub fn new(engine: &Engine) -> Result<Self> {
        let one = Self { engine: engine.clone(), way: Way::fastest(engine.device().limits()), set: PhantomData };
        let programs = [Prepared::PreparePublic, Prepared::PrepareSecret, ENCAPSULATE, Prepared::DecapsulateWithOne];
        programs.into_iter().try_for_each(|task| one.program(task).map(drop))?; // the engine caches them
        Ok(one)
    }

    fn program(&self, task: Prepared) -> Result<Program> {
        self.engine.program_of(&(TypeId::of::<P>(), task), |planner| {
            PrimeSteps::new(&P::PARAMETERS, planner.limits())?.with_prepared(task, planner)
        })
    }

    /// Uploads a public key and converts its polynomial h to an operand of products. Any bytes of the right length are
    /// a valid key.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) unless the key has the set's length. The errors of
    /// [`Call::run`](ringforge::run::Call::run), for example if memory runs out or the driver fails.
    pub fn public_key(&self, stream: &Stream, key: &[u8]) -> Result<PreparedPublicKey<P>> {
        let p = P::PARAMETERS;
        length("bytes of a public key", key, p.sizes().public_key)?;
        let key = stream.upload(key)?;
        let mut prepared = stream.device().buffer(self.way.prepared_public_bytes(&p))?;
        let program = self.program(Prepared::PreparePublic)?;
        let call = program.on(stream, 1).input("public keys", &key);
        call.output("prepared public keys", &mut prepared).run()?;
        Ok(PreparedPublicKey(prepared, PhantomData))
    }

    /// Checks a secret key, uploads it, and converts its polynomial f to an operand of products. If the key is invalid,
    /// returns the inner error.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) unless the key has the set's secret-key length. The errors of
    /// [`Call::run`](ringforge::run::Call::run), for example if memory runs out or the driver fails.
    pub fn secret_key(&self, stream: &Stream, key: &[u8]) -> Result<Result<PreparedSecretKey<P>, KeyError>> {
        let p = P::PARAMETERS;
        if let Some(why) = check_secret_key::<P>(key)? {
            return Ok(Err(why));
        }
        let public = self.public_key(stream, p.sizes().parts(key)[1])?;
        let key = stream.upload_secret(key)?;
        let mut secret = stream.secret_buffer(self.way.prepared_secret_bytes(&p))?;
        let program = self.program(Prepared::PrepareSecret)?;
        let call = program.on(stream, 1).input("secret keys", &key);
        call.output("prepared secret keys", &mut secret).run()?;
        Ok(Ok(PreparedSecretKey { secret, public }))
    }

    /// Encapsulates `batch` times to one public key, with randomness from the operating system. Returns the ciphertexts
    /// and the shared keys, which are wiped when dropped.
    ///
    /// # Errors
    /// [`Error::TooLarge`](ringforge::Error::TooLarge) if the size of a buffer in bytes overflows.
    /// [`Error::Unsupported`](ringforge::Error::Unsupported) if the system provides no randomness. The errors of
    /// [`Call::run`](ringforge::run::Call::run), for example if the key is on another device.
    pub fn encapsulate(
        &self,
        stream: &Stream,
        key: &PreparedPublicKey<P>,
        batch: usize,
    ) -> Result<(Ciphertexts<P>, SharedKeys<P>)> {
        let (mut sent, mut shared) = (Ciphertexts::new(stream, batch)?, SharedKeys::new(stream, batch)?);
        let program = self.program(ENCAPSULATE)?;
        stream.with_random_key(|random_key| {
            let call = program.on(stream, batch).input("prepared public key", &key.0).input("random_key", random_key);
            call.output("ciphertexts", sent.bytes_mut()).output("shared keys", shared.bytes_mut()).run()
        })?;
        Ok((sent, shared))
    }

    /// Decapsulates ciphertexts with one secret key. Returns the shared keys, which are wiped when dropped.
    ///
    /// # Errors
    /// The errors of [`Call::run`](ringforge::run::Call::run), for example if the key is on another device than the
    /// stream.
    pub fn decapsulate(
        &self,
        stream: &Stream,
        key: &PreparedSecretKey<P>,
        ciphertexts: &Ciphertexts<P>,
    ) -> Result<SharedKeys<P>> {
        let mut shared_keys = SharedKeys::new(stream, ciphertexts.len())?;
        let program = self.program(Prepared::DecapsulateWithOne)?;
        let call = program.on(stream, ciphertexts.len()).input("prepared secret key", &key.secret);
        let call = call.input("prepared public key", &key.public.0).input("ciphertexts", ciphertexts.bytes());
        call.output("shared keys", shared_keys.bytes_mut()).run()?;
        Ok(shared_keys)
    }
}

/// Encapsulation to one public key, with a random generator key from the operating system.
const ENCAPSULATE: Prepared = Prepared::EncapsulateToOne(Randomness::RandomKey);
