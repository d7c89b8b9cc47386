//! One key for many operations, its transform made once.

use core::fmt;

use ringforge::{Error, Result, Stream};
use ringforge_batch::items::{Ciphertexts, Items, PublicKeys, SecretKeys, SharedKeys};

use super::Batch;
use crate::params::{ParameterSet, SEED_BYTES};
use crate::plans::Plans;

/// A public key on a device, made ready for many encapsulations: see [`Batch::prepare_public_key`].
pub struct PreparedPublicKey(PublicKeys);

/// A secret key on a device, made ready for many decapsulations and wiped when dropped: see
/// [`Batch::prepare_secret_key`].
pub struct PreparedSecretKey {
    secret: SecretKeys,
    public: PreparedPublicKey,
}

impl<P: ParameterSet> Batch<P> {
    /// Makes a public key ready for [`Batch::encapsulate_to`]. Any bytes are one, as for single encapsulations.
    ///
    /// ```
    /// use ringforge::Device;
    /// use ringforge_batch::{BatchKem, Resident};
    /// use ringforge_ctru_prime::{Batch, CtruPrime653};
    ///
    /// let kem = Batch::<CtruPrime653>::new(&Device::cpu())?;
    /// let sizes = kem.sizes();
    /// let (mut public_key, mut secret_key) = (vec![0; sizes.public_key], vec![0; sizes.secret_key]);
    /// kem.generate(&mut public_key, &mut secret_key)?.all()?;
    ///
    /// let stream = kem.device().stream()?;
    /// let to = kem.prepare_public_key(&stream, &public_key)?;
    /// let (ciphertexts, sent) = kem.encapsulate_to(&stream, &to, 3)?;
    /// let with = kem.prepare_secret_key(&stream, &secret_key)?;
    /// let received = kem.decapsulate_with(&stream, &with, &ciphertexts)?;
    ///
    /// let mut keys = [[0; 3 * 32], [1; 3 * 32]];
    /// sent.export(&stream, &mut keys[0])?.all()?;
    /// received.export(&stream, &mut keys[1])?.all()?;
    /// assert_eq!(keys[0], keys[1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] unless it is one key; as [`Batch::new`].
    pub fn prepare_public_key(&self, stream: &Stream, key: &[u8]) -> Result<PreparedPublicKey> {
        let p = P::PARAMETERS;
        one_key("bytes of a public key", key, p.public_key_bytes())?;
        let key = stream.upload(key)?;
        let mut prepared = stream.device().buffer(p.prepared_public_bytes())?;
        let program = self.later(&self.prepare_public, Plans::prepare_public)?;
        program.run(stream, 1, &mut [(&key).into(), (&mut prepared).into()])?;
        Ok(PreparedPublicKey(PublicKeys(Items::new(stream, prepared, p.prepared_public_bytes()))))
    }

    /// Makes a secret key ready for [`Batch::decapsulate_with`]. It is not checked: see
    /// [`check_secret_key`](crate::check_secret_key).
    ///
    /// # Errors
    /// [`Error::Length`] unless it is one key; as [`Batch::new`].
    pub fn prepare_secret_key(&self, stream: &Stream, key: &[u8]) -> Result<PreparedSecretKey> {
        let p = P::PARAMETERS;
        one_key("bytes of a secret key", key, p.secret_key_bytes())?;
        let public = self.prepare_public_key(stream, p.parts(key)[1])?;
        let key = SecretKeys(Items::new(stream, stream.upload(key)?, key.len()));
        let mut prepared = stream.device().buffer(p.prepared_secret_bytes())?;
        let program = self.later(&self.prepare_secret, Plans::prepare_secret)?;
        program.run(stream, 1, &mut [key.0.bytes().into(), (&mut prepared).into()])?;
        Ok(PreparedSecretKey { secret: SecretKeys(Items::new(stream, prepared, p.prepared_secret_bytes())), public })
    }

    /// New shared keys and their ciphertexts, all to one public key: the bytes that
    /// [`encapsulate_on`](ringforge_batch::BatchKem::encapsulate_on) gives for as many copies of it, sooner.
    ///
    /// # Errors
    /// [`Error::Length`] for a key of another set; as [`encapsulate_on`](ringforge_batch::BatchKem::encapsulate_on).
    pub fn encapsulate_to(
        &self,
        stream: &Stream,
        key: &PreparedPublicKey,
        batch: usize,
    ) -> Result<(Ciphertexts, SharedKeys)> {
        let p = P::PARAMETERS;
        let PublicKeys(key) = &key.0;
        key.batch(p.prepared_public_bytes())?;
        let [mut ciphertexts, mut shared_keys] = self.encapsulated(stream, batch)?;
        let program = self.later(&self.encapsulate_to_one, Plans::encapsulate_to_one)?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            let args = &mut [key.bytes().into(), draws.into(), (&mut ciphertexts).into(), (&mut shared_keys).into()];
            program.run(stream, batch, args)
        })?;
        let ciphertexts = Ciphertexts(Items::new(stream, ciphertexts, p.ciphertext_bytes()));
        Ok((ciphertexts, SharedKeys(Items::new(stream, shared_keys, SEED_BYTES))))
    }

    /// The shared key of each ciphertext, with one secret key for all: what
    /// [`decapsulate_on`](ringforge_batch::BatchKem::decapsulate_on) gives for as many copies of it, sooner.
    ///
    /// # Errors
    /// [`Error::Length`] for keys or ciphertexts of another set; as
    /// [`decapsulate_on`](ringforge_batch::BatchKem::decapsulate_on).
    pub fn decapsulate_with(
        &self,
        stream: &Stream,
        key: &PreparedSecretKey,
        ciphertexts: &Ciphertexts,
    ) -> Result<SharedKeys> {
        let p = P::PARAMETERS;
        let (SecretKeys(secret), PublicKeys(public), Ciphertexts(from)) = (&key.secret, &key.public.0, ciphertexts);
        secret.batch(p.prepared_secret_bytes())?;
        let batch = from.batch(p.ciphertext_bytes())?;
        let mut shared_keys = self.items(stream, batch, SEED_BYTES)?;
        let program = self.later(&self.decapsulate_with_one, Plans::decapsulate_with_one)?;
        let args = &mut [secret.bytes().into(), public.bytes().into(), from.bytes().into(), (&mut shared_keys).into()];
        program.run(stream, batch, args)?;
        Ok(SharedKeys(Items::new(stream, shared_keys, SEED_BYTES).made_with(from)))
    }
}

fn one_key(what: &'static str, key: &[u8], expected: usize) -> Result<()> {
    let got = key.len();
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

impl fmt::Debug for PreparedPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedPublicKey({} bytes)", self.0.0.bytes().len())
    }
}

impl fmt::Debug for PreparedSecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedSecretKey({} bytes)", self.secret.0.bytes().len())
    }
}
