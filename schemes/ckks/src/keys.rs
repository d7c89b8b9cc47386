//! Key generation: secret, public and switching keys.

use std::collections::BTreeMap;

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
        let (seed, buffer) = self.key_from(&program, secret, None, randomness)?;
        Ok(PublicKey { parameters: self.shared_parameters().clone(), seed, buffer })
    }

    /// Generates the relinearisation key for a secret key. Products of ciphertexts need it.
    ///
    /// # Errors
    /// The errors of [`Ckks::public_key`].
    pub fn relinearisation_key(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<RelinearisationKey> {
        self.switching_key(secret, Switch::Square, self.top_level(), randomness).map(RelinearisationKey)
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
        let top = self.top_level();
        let of_top = |k| (k, top);
        let automorphisms = automorphisms(self.parameters(), steps, conjugates).into_iter().map(of_top).collect();
        self.galois_keys_of(secret, &automorphisms, randomness)
    }

    /// Generates a key for each automorphism x → x^k, for a level and lower ones.
    pub(crate) fn galois_keys_of(
        &self,
        secret: &SecretKey,
        automorphisms: &BTreeMap<u64, usize>,
        randomness: &mut Randomness,
    ) -> Result<GaloisKeys> {
        let mut key = |(&k, &level): (&u64, &usize)| {
            Ok((k, self.switching_key(secret, Switch::Automorphism(k), level, randomness)?))
        };
        let keys = automorphisms.iter().map(&mut key).collect::<Result<_>>()?;
        Ok(GaloisKeys { parameters: self.shared_parameters().clone(), keys })
    }

    /// Generates a switching key to a secret key, for a level and lower ones.
    pub(crate) fn switching_key(
        &self,
        secret: &SecretKey,
        switch: Switch,
        level: usize,
        randomness: &mut Randomness,
    ) -> Result<SwitchingKey> {
        self.own(&secret.parameters, "the secret key")?;
        let program = self.program(Operation::SourceOfSwitch(switch), level, 1)?;
        let mut from = self.stream()?.secret_buffer(bytes_of(&program, "from"))?;
        program.on(self.stream()?, 1).input("s", &secret.buffer).output("from", &mut from).run()?;
        let program = self.program(Operation::SwitchingKey, level, 1)?;
        let (seed, buffer) = self.key_from(&program, secret, Some(&from), randomness)?;
        Ok(SwitchingKey { parameters: self.shared_parameters().clone(), level, seed, buffer })
    }

    /// Runs a key generation program on a secret key, a new public seed and new randomness; returns the seed and the
    /// key.
    fn key_from(
        &self,
        program: &Program,
        secret: &SecretKey,
        from: Option<&Buffer>,
        randomness: &mut Randomness,
    ) -> Result<([u8; 32], Buffer)> {
        self.own(&secret.parameters, "the secret key")?;
        let mut seed = [0; RandomKey::BYTES];
        seed.copy_from_slice(randomness.random_key()?.as_bytes());
        let uploaded = self.stream()?.upload(&seed)?;
        let random_key = self.random_key(randomness)?;
        let mut key = self.engine().device().buffer(bytes_of(program, "key"))?;
        let call = program.on(self.stream()?, 1).input("s", &secret.buffer).input("seed", &uploaded);
        let call = from.into_iter().fold(call, |call, from| call.input("from", from));
        call.input("random_key", &random_key).output("key", &mut key).run()?;
        Ok((seed, key))
    }
}
