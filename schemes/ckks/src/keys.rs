//! Key generation: secret, public and switching keys.

use ringforge::{Buffer, Program, RandomKey};

use crate::error::Result;
use crate::programs::{Operation, bytes_of};
use crate::randomness::Randomness;
use crate::scheme::Ckks;
use crate::steps::Switch;
use crate::types::{GaloisKeys, PublicKey, RelinearisationKey, SecretKey, SwitchingKey, automorphisms};

impl Ckks {
    /// Generates a secret key with uniform ternary coefficients.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the engine fails.
    pub fn secret_key(&self, randomness: &mut Randomness) -> Result<SecretKey> {
        let program = self.program(Operation::SecretKey, self.top_level(), 1)?;
        let random_key = self.random_key(randomness)?;
        let mut buffer = self.stream()?.secret_buffer(bytes_of(&program, "s"))?;
        program.on(self.stream()?, 1).input("random_key", &random_key).output("s", &mut buffer).run()?;
        Ok(SecretKey { parameters: self.shared_parameters().clone(), buffer })
    }

    /// Generates a public key for a secret key.
    ///
    /// # Errors
    /// [`Error::Foreign`](crate::Error::Foreign) if the secret key was made for parameters other than this scheme's;
    /// [`Error::Engine`](crate::Error::Engine) if the engine fails.
    pub fn public_key(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<PublicKey> {
        let program = self.program(Operation::PublicKey, self.top_level(), 1)?;
        let (seed, buffer) = self.key_from(&program, secret, randomness)?;
        Ok(PublicKey { parameters: self.shared_parameters().clone(), seed, buffer })
    }

    /// Generates the relinearisation key for a secret key. Products of ciphertexts need it.
    ///
    /// # Errors
    /// The errors of [`Ckks::public_key`].
    pub fn relinearisation_key(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<RelinearisationKey> {
        self.switching_key(secret, Switch::Square, randomness).map(RelinearisationKey)
    }

    /// Generates one key for a rotation by each of `steps` to the left (right if negative), and one for conjugation if
    /// `conjugates` is set. Steps that are equal modulo the number of slots share a key, and steps that are 0 need
    /// none.
    ///
    /// # Errors
    /// The errors of [`Ckks::public_key`].
    pub fn galois_keys(
        &self,
        secret: &SecretKey,
        steps: &[i64],
        conjugates: bool,
        randomness: &mut Randomness,
    ) -> Result<GaloisKeys> {
        let parameters = self.shared_parameters();
        let key = |k| Ok((k, self.switching_key(secret, Switch::Automorphism(k), randomness)?));
        let keys = automorphisms(parameters, steps, conjugates).into_iter().map(key).collect::<Result<_>>()?;
        Ok(GaloisKeys { parameters: parameters.clone(), keys })
    }

    pub(crate) fn switching_key(
        &self,
        secret: &SecretKey,
        switch: Switch,
        randomness: &mut Randomness,
    ) -> Result<SwitchingKey> {
        let program = self.program(Operation::SwitchingKey(switch), self.top_level(), 1)?;
        let (seed, buffer) = self.key_from(&program, secret, randomness)?;
        Ok(SwitchingKey { parameters: self.shared_parameters().clone(), seed, buffer })
    }

    /// Runs a key generation program on a secret key, a new public seed and new randomness; returns the seed and the
    /// key.
    fn key_from(
        &self,
        program: &Program,
        secret: &SecretKey,
        randomness: &mut Randomness,
    ) -> Result<([u8; 32], Buffer)> {
        self.own(&secret.parameters, "the secret key")?;
        let mut seed = [0; RandomKey::BYTES];
        seed.copy_from_slice(randomness.random_key()?.as_bytes());
        let uploaded = self.stream()?.upload(&seed)?;
        let random_key = self.random_key(randomness)?;
        let mut key = self.engine().device().buffer(bytes_of(program, "key"))?;
        let call = program.on(self.stream()?, 1).input("s", &secret.buffer).input("seed", &uploaded);
        call.input("random_key", &random_key).output("key", &mut key).run()?;
        Ok((seed, key))
    }
}
