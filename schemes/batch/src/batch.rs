//! A mechanism made ready on a device.

use core::fmt;
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ringforge::{Buffer, Device, Error, Planner, Program, Result, Stream};

#[cfg(feature = "hazmat")]
use crate::deterministic::DeterministicKem;
use crate::host::{STATUSES, run_host};
use crate::items::{Ciphertexts, Items, Kind, PublicKeys, SecretKeys, SharedKeys, bytes_of};
use crate::kem::BatchKem;
use crate::kem_scheme::{KemScheme, Operation, Randomness};
#[cfg(feature = "hazmat")]
use crate::sizes::{ENCAPSULATION_SEED, KEY_SEED};
use crate::sizes::{Sizes, batch_of};
use crate::status::BatchStatus;

use Operation::{CheckPublicKeys, CheckSecretKeys, Decapsulate, Encapsulate, Generate};
use Randomness::Draws;

/// A mechanism made ready on a device: key generation, encapsulation and decapsulation of many items at once.
///
/// Keys from host memory are checked: with what is done with them, or when they are imported.
pub struct Batch<M> {
    device: Device,
    programs: Mutex<HashMap<(Operation, bool), Option<Program>>>,
    mechanism: PhantomData<fn() -> M>,
}

impl<M: KemScheme> Batch<M> {
    /// Makes the programs for handles ready. The others are compiled when they are first needed.
    ///
    /// # Errors
    /// As [`Device::compile`].
    pub fn new(device: &Device) -> Result<Self> {
        let batch = Self { device: device.clone(), programs: Mutex::default(), mechanism: PhantomData };
        [Generate(Draws), Encapsulate(Draws), Decapsulate].iter().try_for_each(|&operation| {
            batch.program(operation, false).map(drop) // kept for later
        })?;
        Ok(batch)
    }

    /// The program of an operation, one that also checks the keys if that is wanted; nothing for a check of what needs none.
    fn find(&self, operation: Operation, checked: bool) -> Result<Option<Program>> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&(operation, checked)) {
            return Ok(program.clone());
        }
        let planner = Planner::new(self.device.limits().clone());
        let plan = operation.plan(M::NAME, &M::steps()?, checked, &planner)?;
        let program = plan.map(|plan| self.device.compile(&plan)).transpose()?;
        programs.insert((operation, checked), program.clone());
        Ok(program)
    }

    /// The same of an operation that there is.
    fn program(&self, operation: Operation, checked: bool) -> Result<Program> {
        let missing =
            || Error::Unsupported { job: format!("{} {operation:?}", M::NAME), why: "it has no steps".into() };
        self.find(operation, checked)?.ok_or_else(missing)
    }

    /// Runs an operation over host memory, keys checked.
    fn run_host<const N: usize>(
        &self,
        operation: Operation,
        batch: usize,
        inputs: &[(&str, &[u8])],
        outputs: [(&str, &mut [u8], usize); N],
    ) -> Result<BatchStatus<M::Error>> {
        run_host(&self.program(operation, true)?, batch, inputs, outputs)
    }

    /// Runs a program on the device; gives the statuses that it wrote.
    fn run<const N: usize>(
        &self,
        stream: &Stream,
        program: &Program,
        batch: usize,
        inputs: &[(&str, &Buffer)],
        outputs: [(&str, &mut Buffer); N],
    ) -> Result<Option<Arc<Buffer>>> {
        let call = inputs.iter().fold(program.on(stream, batch), |call, (name, buffer)| call.input(name, buffer));
        let call = outputs.into_iter().fold(call, |call, (name, buffer)| call.output(name, buffer));
        if program.plan().arg(STATUSES).is_none() {
            return call.run().map(|()| None);
        }
        let mut statuses = self.device.buffer(bytes_of(batch, size_of::<u32>())?)?;
        call.output(STATUSES, &mut statuses).run()?;
        Ok(Some(Arc::new(statuses)))
    }

    fn import<K: Kind>(
        &self,
        stream: &Stream,
        bytes: &[u8],
        check: Option<(Operation, &str)>,
    ) -> Result<Items<K, M::Error>> {
        let batch = batch_of(K::BYTES, bytes.len(), K::size(&M::SIZES))?;
        let mut items = Items::new::<M>(stream, batch)?;
        stream.write(&mut items.bytes, bytes)?;
        let Some((check, name)) = check else { return Ok(items) };
        let Some(program) = self.find(check, false)? else { return Ok(items) };
        let statuses = self.run(stream, &program, batch, &[(name, &items.bytes)], [])?;
        Ok(items.with_statuses(&statuses))
    }

    fn generate_host(
        &self,
        from: Randomness,
        seeds: &[u8],
        public: &mut [u8],
        secret: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let batch = M::SIZES.generations(public, secret)?;
        let outputs = [("public keys", public, M::SIZES.public_key), ("secret keys", secret, M::SIZES.secret_key)];
        self.run_host(Generate(from), batch, &[(from.name(), seeds)], outputs)
    }

    fn encapsulate_host(
        &self,
        from: Randomness,
        public_keys: &[u8],
        seeds: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let batch = M::SIZES.encapsulations(public_keys, ciphertexts, shared_keys)?;
        let inputs = [("public keys", public_keys), (from.name(), seeds)];
        let outputs =
            [("ciphertexts", ciphertexts, M::SIZES.ciphertext), ("shared keys", shared_keys, M::SIZES.shared_key)];
        self.run_host(Encapsulate(from), batch, &inputs, outputs)
    }
}

impl<M: KemScheme> BatchKem for Batch<M> {
    type Error = M::Error;
    type PublicKeys = PublicKeys<M::Error>;
    type SecretKeys = SecretKeys<M::Error>;
    type Ciphertexts = Ciphertexts<M::Error>;
    type SharedKeys = SharedKeys<M::Error>;

    fn sizes(&self) -> Sizes {
        M::SIZES
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<BatchStatus<M::Error>> {
        let draws = ringforge::Draws::from_os()?;
        self.generate_host(Draws, draws.as_bytes(), public_keys, secret_keys)
    }

    fn encapsulate(
        &self,
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let draws = ringforge::Draws::from_os()?;
        self.encapsulate_host(Draws, public_keys, draws.as_bytes(), ciphertexts, shared_keys)
    }

    fn decapsulate(
        &self,
        secret_keys: &[u8],
        ciphertexts: &[u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        let batch = M::SIZES.decapsulations(secret_keys, ciphertexts, shared_keys)?;
        let inputs = [("secret keys", secret_keys), ("ciphertexts", ciphertexts)];
        self.run_host(Decapsulate, batch, &inputs, [("shared keys", shared_keys, M::SIZES.shared_key)])
    }

    fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PublicKeys<M::Error>> {
        self.import(stream, bytes, Some((CheckPublicKeys, "public keys")))
    }

    fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<SecretKeys<M::Error>> {
        self.import(stream, bytes, Some((CheckSecretKeys, "secret keys")))
    }

    fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Ciphertexts<M::Error>> {
        self.import(stream, bytes, None)
    }

    fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(PublicKeys<M::Error>, SecretKeys<M::Error>)> {
        let mut public = PublicKeys::new::<M>(stream, batch)?;
        let mut secret = SecretKeys::new::<M>(stream, batch)?;
        let statuses = stream.with_draws(|draws| {
            let outputs = [("public keys", &mut public.bytes), ("secret keys", &mut secret.bytes)];
            self.run(stream, &self.program(Generate(Draws), false)?, batch, &[("draws", draws)], outputs)
        })?;
        Ok((public.with_statuses(&statuses), secret.with_statuses(&statuses)))
    }

    fn encapsulate_on(
        &self,
        stream: &Stream,
        public_keys: &PublicKeys<M::Error>,
    ) -> Result<(Ciphertexts<M::Error>, SharedKeys<M::Error>)> {
        let batch = public_keys.batch::<M>()?;
        let mut sent = Ciphertexts::new::<M>(stream, batch)?.made_from(public_keys);
        let mut shared = SharedKeys::new::<M>(stream, batch)?.made_from(public_keys);
        let statuses = stream.with_draws(|draws| {
            let inputs = [("public keys", &public_keys.bytes), ("draws", draws)];
            let outputs = [("ciphertexts", &mut sent.bytes), ("shared keys", &mut shared.bytes)];
            self.run(stream, &self.program(Encapsulate(Draws), false)?, batch, &inputs, outputs)
        })?;
        Ok((sent.with_statuses(&statuses), shared.with_statuses(&statuses)))
    }

    fn decapsulate_on(
        &self,
        stream: &Stream,
        secret_keys: &SecretKeys<M::Error>,
        ciphertexts: &Ciphertexts<M::Error>,
    ) -> Result<SharedKeys<M::Error>> {
        let (batch, got) = (secret_keys.batch::<M>()?, ciphertexts.batch::<M>()?);
        if got != batch {
            return Err(Error::Length { what: "ciphertexts", expected: batch, got });
        }
        let mut shared = SharedKeys::new::<M>(stream, batch)?.made_from(secret_keys).made_from(ciphertexts);
        let inputs = [("secret keys", &secret_keys.bytes), ("ciphertexts", &ciphertexts.bytes)];
        let outputs = [("shared keys", &mut shared.bytes)];
        let statuses = self.run(stream, &self.program(Decapsulate, false)?, batch, &inputs, outputs)?;
        Ok(shared.with_statuses(&statuses))
    }
}

#[cfg(feature = "hazmat")]
impl<M: KemScheme> DeterministicKem for Batch<M> {
    fn generate_from(
        &self,
        seeds: &[u8],
        public_keys: &mut [u8],
        secret_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        batch_of("bytes of seeds", seeds.len(), KEY_SEED)?;
        self.generate_host(Randomness::Seeds, seeds, public_keys, secret_keys)
    }

    fn encapsulate_from(
        &self,
        seeds: &[u8],
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<BatchStatus<M::Error>> {
        batch_of("bytes of seeds", seeds.len(), ENCAPSULATION_SEED)?;
        self.encapsulate_host(Randomness::Seeds, public_keys, seeds, ciphertexts, shared_keys)
    }
}

impl<M: KemScheme> fmt::Debug for Batch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} on {})", M::NAME, self.device)
    }
}
