//! [`KeyGenerator`]: key generation and encryption with fixed parameters on an engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringforge::{Buffer, Engine, Pipeline, Plan, Planner, PolyType, Program, RandomKey, Stream};
use zeroize::Zeroizing;

use crate::basis::Basis;
use crate::error::{Error, Result};
use crate::keys::{GaloisKeys, PublicKey, RelinearisationKey, SecretKey, Switch, SwitchingKey, automorphisms};
use crate::params::Parameters;
use crate::randomness::Randomness;

/// Generates keys for fixed parameters on an engine's device, reads and writes their bytes, and encrypts. Clones are
/// cheap, and may be used from several threads.
///
/// The same [seed](Randomness::from_seed) gives the same keys on every device.
///
/// ```
/// use ringforge_rlwe::ringforge::Engine;
/// use ringforge_rlwe::{KeyGenerator, Parameters, Randomness};
///
/// let keys = KeyGenerator::new(&Engine::best(), Parameters::new(12, &[34, 34], &[36])?.into())?;
/// let secret = keys.secret_key(&mut Randomness::from_seed([1; 32]))?;
/// let again = keys.secret_key_from_bytes(&keys.secret_key_to_bytes(&secret)?)?;
/// assert_eq!(secret.buffer().len(), again.buffer().len());
/// # Ok::<(), ringforge_rlwe::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyGenerator {
    engine: Engine,
    parameters: Arc<Parameters>,
    /// Element type of keys.
    key: PolyType,
}

/// A program of key generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyOperation {
    /// A secret key, the output `s`, from a `random_key`.
    SecretKey,
    /// Coefficients of a secret key modulo q_0.
    SecretCoefficients,
    /// A secret key from its coefficients.
    SecretEvaluations,
    /// A public key, the output `key`.
    PublicKey,
    /// A public key from one half and the seed of the other.
    ExpandPublicKey,
    /// The secret `from` which a switching key switches.
    SourceOfSwitch(Switch),
    /// A switching key, the output `key`.
    SwitchingKey,
    /// A switching key from one half and the seed of the other.
    ExpandSwitchingKey,
    /// Encryption of elements modulo Q.
    Encrypt,
}

/// Checks that the argument `what` was made for a scheme's own parameters.
///
/// # Errors
/// [`Error::Foreign`] if it was not.
pub fn check_own<T: PartialEq>(own: &Arc<T>, other: &Arc<T>, what: &'static str) -> Result<()> {
    if Arc::ptr_eq(own, other) || own == other { Ok(()) } else { Err(Error::Foreign { what }) }
}

/// Bytes per item of the plan argument `name`; 0 if there is no such argument.
#[must_use]
pub fn bytes_of(program: &Program, name: &str) -> usize {
    program.plan().arg(name).map_or(0, |arg| arg.bytes)
}

impl KeyGenerator {
    /// Smallest batch that is assumed to fill a GPU.
    const MANY: usize = 8;

    /// Prepares keys for these parameters.
    ///
    /// # Errors
    /// [`Error::Engine`] if a ring with these primes is not supported.
    pub fn new(engine: &Engine, parameters: Arc<Parameters>) -> Result<Self> {
        let key = Basis::key_type(&parameters)?;
        Ok(Self { engine: engine.clone(), parameters, key })
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Arc<Parameters> {
        &self.parameters
    }

    /// The rings and pipeline steps of ciphertexts modulo the first `limbs` primes of Q; all if there are fewer.
    ///
    /// # Errors
    /// [`Error::Engine`] if a ring is not supported.
    pub fn basis(&self, limbs: usize) -> Result<Basis> {
        Ok(Basis::of_type(&self.key, &self.parameters, limbs)?)
    }

    /// Checks that the argument `what` was made for these parameters.
    ///
    /// # Errors
    /// [`Error::Foreign`] if it was not.
    pub fn own(&self, parameters: &Arc<Parameters>, what: &'static str) -> Result<()> {
        check_own(&self.parameters, parameters, what)
    }

    /// Generates a secret key with uniform ternary coefficients.
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails.
    pub fn secret_key(&self, randomness: &mut Randomness) -> Result<SecretKey> {
        let program = self.program(KeyOperation::SecretKey, self.top(), 1)?;
        let random_key = self.random_key(randomness)?;
        let mut buffer = self.stream()?.secret_buffer(bytes_of(&program, "s"))?;
        program.on(self.stream()?, 1).input("random_key", &random_key).output("s", &mut buffer).run()?;
        Ok(SecretKey { parameters: self.parameters.clone(), buffer })
    }

    /// Generates a public key for a secret key.
    ///
    /// # Errors
    /// [`Error::Foreign`] if the secret key was made for parameters other than this scheme's; [`Error::Engine`] if the
    /// engine fails.
    pub fn public_key(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<PublicKey> {
        let program = self.program(KeyOperation::PublicKey, self.top(), 1)?;
        let (seed, buffer) = self.key_from(&program, secret, None, randomness)?;
        Ok(PublicKey { parameters: self.parameters.clone(), seed, buffer })
    }

    /// Generates the relinearisation key for a secret key. Products of ciphertexts need it.
    ///
    /// # Errors
    /// The errors of [`KeyGenerator::public_key`].
    pub fn relinearisation_key(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<RelinearisationKey> {
        self.switching_key(secret, Switch::Square, self.top(), randomness).map(RelinearisationKey)
    }

    /// Generates one key for a rotation by each of `steps` to the left (right if negative), and one for x → x^-1 if
    /// `conjugates` is set: conjugation of CKKS, exchange of the rows of BFV. Steps that are equal modulo N/2 share a
    /// key, and steps that are 0 need none.
    ///
    /// # Errors
    /// The errors of [`KeyGenerator::public_key`].
    pub fn galois_keys(
        &self,
        secret: &SecretKey,
        steps: &[i64],
        conjugates: bool,
        randomness: &mut Randomness,
    ) -> Result<GaloisKeys> {
        let of_top = |k| (k, self.top());
        let automorphisms = automorphisms(&self.parameters, steps, conjugates).into_iter().map(of_top).collect();
        self.trimmed_galois_keys(secret, &automorphisms, randomness)
    }

    /// Generates a key for each automorphism x → x^k, with the number of primes of Q for which it is made. Ciphertexts may
    /// have fewer primes.
    ///
    /// # Errors
    /// The errors of [`KeyGenerator::public_key`].
    pub fn trimmed_galois_keys(
        &self,
        secret: &SecretKey,
        automorphisms: &BTreeMap<u64, usize>,
        randomness: &mut Randomness,
    ) -> Result<GaloisKeys> {
        let mut key = |(&k, &limbs): (&u64, &usize)| {
            Ok((k, self.switching_key(secret, Switch::Automorphism(k), limbs, randomness)?))
        };
        let keys = automorphisms.iter().map(&mut key).collect::<Result<_>>()?;
        Ok(GaloisKeys { parameters: self.parameters.clone(), keys })
    }

    /// Generates a switching key to a secret key, for ciphertexts modulo at most the first `limbs` primes of Q.
    fn switching_key(
        &self,
        secret: &SecretKey,
        switch: Switch,
        limbs: usize,
        randomness: &mut Randomness,
    ) -> Result<SwitchingKey> {
        self.own(&secret.parameters, "the secret key")?;
        let program = self.program(KeyOperation::SourceOfSwitch(switch), limbs, 1)?;
        let mut from = self.stream()?.secret_buffer(bytes_of(&program, "from"))?;
        program.on(self.stream()?, 1).input("s", &secret.buffer).output("from", &mut from).run()?;
        let program = self.program(KeyOperation::SwitchingKey, limbs, 1)?;
        let (seed, buffer) = self.key_from(&program, secret, Some(&from), randomness)?;
        Ok(SwitchingKey { parameters: self.parameters.clone(), limbs: limbs.min(self.top()), seed, buffer })
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
        let mut key = self.engine.device().buffer(bytes_of(program, "key"))?;
        let call = program.on(self.stream()?, 1).input("s", &secret.buffer).input("seed", &uploaded);
        let call = from.into_iter().fold(call, |call, from| call.input("from", from));
        call.input("random_key", &random_key).output("key", &mut key).run()?;
        Ok((seed, key))
    }

    /// Encrypts a batch of elements modulo the first `limbs` primes of Q, given as evaluations, to ciphertexts in `to`.
    ///
    /// # Errors
    /// [`Error::Foreign`] if the key was made for other parameters; [`Error::Engine`] if a buffer has another length, or
    /// the engine fails.
    pub fn encrypt(
        &self,
        message: &Buffer,
        (limbs, batch): (usize, usize),
        key: &PublicKey,
        randomness: &mut Randomness,
        to: &mut Buffer,
    ) -> Result<()> {
        self.own(&key.parameters, "the public key")?;
        let program = self.program(KeyOperation::Encrypt, limbs, batch)?;
        let random_key = self.random_key(randomness)?;
        let call = program.on(self.stream()?, batch).input("key", &key.buffer).input("random_key", &random_key);
        Ok(call.input("message", message).output("ciphertext", to).run()?)
    }

    /// Uploads the next key for the device's random generator, to memory that is wiped on drop.
    ///
    /// # Errors
    /// [`Error::Engine`] if the operating system's randomness or the engine fails.
    pub fn random_key(&self, randomness: &mut Randomness) -> Result<Buffer> {
        Ok(self.stream()?.upload_secret(randomness.random_key()?.as_bytes())?)
    }

    /// Uploads secret residues to device memory that is wiped on drop.
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails.
    pub fn upload_residues(&self, words: &[u64]) -> Result<Buffer> {
        let stream = self.stream()?;
        Ok(match self.parameters.word() {
            4 => {
                let narrow = Zeroizing::new(words.iter().map(|&word| word as u32).collect::<Vec<u32>>());
                stream.upload_secret::<u32>(&narrow)?
            }
            _ => stream.upload_secret(words)?,
        })
    }

    /// Downloads residues; the reverse of [`KeyGenerator::upload_residues`].
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails.
    pub fn download_residues(&self, from: &Buffer) -> Result<Zeroizing<Vec<u64>>> {
        let stream = self.stream()?;
        Ok(Zeroizing::new(match self.parameters.word() {
            4 => Zeroizing::new(stream.download::<u32>(from)?).iter().map(|&word| word.into()).collect(),
            _ => stream.download(from)?,
        }))
    }

    pub(crate) fn stream(&self) -> Result<&Stream> {
        Ok(self.engine.stream()?)
    }

    /// Number of all primes of Q.
    pub(crate) fn top(&self) -> usize {
        self.parameters.q().len()
    }

    /// Returns the program of an operation for ciphertexts modulo the first `limbs` primes of Q, compiled on first use.
    pub(crate) fn program(&self, operation: KeyOperation, limbs: usize, batch: usize) -> Result<Program> {
        let items = self.planned_items(batch);
        let key = (operation, limbs, self.parameters.clone(), items);
        let plan = |planner: &Planner| self.planned(operation, limbs, &planner.clone().for_batch(items));
        Ok(self.engine.program_of(&key, plan)?)
    }

    /// Plans an operation for ciphertexts modulo the first `limbs` primes of Q, to predict its memory. Allocates nothing on
    /// the device.
    ///
    /// # Errors
    /// [`Error::Engine`] if the operation cannot be planned.
    pub fn plan(&self, operation: KeyOperation, limbs: usize, batch: usize) -> Result<Plan> {
        let planner = self.engine.planner().clone().for_batch(self.planned_items(batch));
        Ok(self.planned(operation, limbs, &planner)?)
    }

    /// Batch size for which plans are made. On a GPU it is one of two sizes, for small and for large batches. On a CPU it
    /// is always 1, because both plans would be equal.
    #[must_use]
    pub fn planned_items(&self, batch: usize) -> usize {
        let is_many = batch >= Self::MANY && !self.engine.device().limits().is_cpu();
        if is_many { 2 * Self::MANY } else { 1 }
    }

    fn planned(&self, operation: KeyOperation, limbs: usize, planner: &Planner) -> ringforge::Result<Plan> {
        let (steps, errors) =
            (Basis::of_type(&self.key, &self.parameters, limbs)?, self.parameters.errors().distribution());
        let p: Pipeline = planner.pipeline(format!("{operation:?} with {limbs} primes"));
        match operation {
            KeyOperation::SecretKey => steps.secret_key(&p),
            KeyOperation::SecretCoefficients => steps.secret_coefficients(&p),
            KeyOperation::SecretEvaluations => steps.secret_evaluations(&p),
            KeyOperation::PublicKey => steps.public_key(&p, errors),
            KeyOperation::ExpandPublicKey => steps.expand_public_key(&p),
            KeyOperation::SourceOfSwitch(switch) => steps.source_of_switch(&p, switch),
            KeyOperation::SwitchingKey => steps.make_switching_key(&p, errors)?,
            KeyOperation::ExpandSwitchingKey => steps.expand_switching_key(&p)?,
            KeyOperation::Encrypt => steps.encrypt(&p, errors)?,
        }
        p.build()
    }
}
