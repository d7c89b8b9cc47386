//! A mechanism made ready on a device.

use core::fmt;
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ringforge::{Arg, Buffer, Device, Error, Plan, Program, Result, Slot, Step, Stream};

#[cfg(feature = "hazmat")]
use crate::deterministic::{DeterministicKem, ENCAPSULATION_SEED, KEY_SEED};
use crate::host::run_host;
use crate::items::{Ciphertexts, Items, Kind, PublicKeys, SecretKeys, SharedKeys, bytes_of};
use crate::kem::BatchKem;
use crate::mechanism::{Mechanism, Operation, Randomness};
use crate::outcome::Outcome;
use crate::sizes::{Sizes, batch_of};

use Operation::{CheckPublicKeys, CheckSecretKeys, Decapsulate, Encapsulate, Generate};
use Randomness::Draws;

/// A mechanism made ready on a device: key generation, encapsulation and decapsulation of many items at once.
///
/// Keys from host memory are checked: with what is done with them, or when they are imported.
pub struct Batch<M> {
    device: Device,
    programs: Mutex<HashMap<(Operation, bool), Program>>,
    mechanism: PhantomData<fn() -> M>,
}

impl<M: Mechanism> Batch<M> {
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

    /// The program of an operation, one that also checks the keys if that is wanted and its kernels do not do so anyway.
    fn program(&self, operation: Operation, checked: bool) -> Result<Program> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&(operation, checked)) {
            return Ok(program.clone());
        }
        let plan = M::plan(operation, self.device.limits())?;
        let (args, check) = match operation {
            Encapsulate(_) if !M::ANY_PUBLIC_KEY => (4, Some(CheckPublicKeys)),
            Decapsulate => (3, Some(CheckSecretKeys)),
            _ => (0, None),
        };
        let plan = match check {
            Some(check) if checked && plan.args().len() == args => {
                with_check(&plan, &M::plan(check, self.device.limits())?)?
            }
            _ => plan,
        };
        let program = self.device.compile(&plan)?;
        programs.insert((operation, checked), program.clone());
        Ok(program)
    }

    /// Runs an operation over host memory, keys checked.
    fn run_host<const N: usize>(
        &self,
        operation: Operation,
        batch: usize,
        inputs: &[&[u8]],
        outputs: [(&mut [u8], usize); N],
    ) -> Result<Outcome> {
        run_host(&self.program(operation, true)?, batch, inputs, outputs)
    }

    /// Runs an operation on the device; gives the statuses that it wrote.
    fn run(
        &self,
        stream: &Stream,
        operation: Operation,
        batch: usize,
        args: Vec<Arg<'_>>,
    ) -> Result<Option<Arc<Buffer>>> {
        let program = self.program(operation, false)?;
        if program.plan().args().len() == args.len() {
            let mut args = args;
            return program.run(stream, batch, &mut args).map(|()| None);
        }
        let mut statuses = self.device.buffer(bytes_of(batch, size_of::<u32>())?)?;
        let mut args: Vec<Arg<'_>> = args.into_iter().chain([(&mut statuses).into()]).collect();
        program.run(stream, batch, &mut args)?;
        drop(args);
        Ok(Some(Arc::new(statuses)))
    }

    fn import<K: Kind>(&self, stream: &Stream, bytes: &[u8], check: Option<Operation>) -> Result<Items<K>> {
        let batch = batch_of(K::BYTES, bytes.len(), K::size(&M::SIZES))?;
        let mut items = Items::new::<M>(stream, batch)?;
        stream.write(&mut items.bytes, bytes)?;
        let Some(check) = check else { return Ok(items) };
        let statuses = self.run(stream, check, batch, vec![(&items.bytes).into()])?;
        Ok(items.with_statuses(&statuses))
    }

    fn generate_host(&self, from: Randomness, seeds: &[u8], public: &mut [u8], secret: &mut [u8]) -> Result<Outcome> {
        let batch = M::SIZES.generations(public, secret)?;
        let outputs = [(public, M::SIZES.public_key), (secret, M::SIZES.secret_key)];
        self.run_host(Generate(from), batch, &[seeds], outputs)
    }

    fn encapsulate_host(
        &self,
        from: Randomness,
        inputs: [&[u8]; 2],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Outcome> {
        let batch = M::SIZES.encapsulations(inputs[0], ciphertexts, shared_keys)?;
        let outputs = [(ciphertexts, M::SIZES.ciphertext), (shared_keys, M::SIZES.shared_key)];
        self.run_host(Encapsulate(from), batch, &inputs, outputs)
    }
}

/// The steps of an operation, and then those that check its first argument, whose statuses become the last one.
fn with_check(plan: &Plan, check: &Plan) -> Result<Plan> {
    let (statuses, temps) = (plan.args().len(), plan.temps().len());
    let moved = |slot: &Slot| match slot {
        Slot::Arg(i) => Slot::Arg(i * statuses), // 0 stays, 1 is the last
        Slot::Temp(i) => Slot::Temp(i + temps),
        Slot::Table(table) => Slot::Table(table.clone()),
    };
    let checks = check.steps().iter().map(|Step { kernel, slots }| {
        let slots = slots.iter().map(moved).collect();
        Step { kernel: kernel.clone(), slots }
    });
    Plan::new(format!("{}, checked", plan.title()), plan.steps().iter().cloned().chain(checks).collect())
}

impl<M: Mechanism> BatchKem for Batch<M> {
    type PublicKeys = PublicKeys;
    type SecretKeys = SecretKeys;
    type Ciphertexts = Ciphertexts;
    type SharedKeys = SharedKeys;

    fn sizes(&self) -> Sizes {
        M::SIZES
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Outcome> {
        let draws = ringforge::Draws::from_os()?;
        self.generate_host(Draws, draws.as_bytes(), public_keys, secret_keys)
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let draws = ringforge::Draws::from_os()?;
        self.encapsulate_host(Draws, [public_keys, draws.as_bytes()], ciphertexts, shared_keys)
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let batch = M::SIZES.decapsulations(secret_keys, ciphertexts, shared_keys)?;
        let outputs = [(shared_keys, M::SIZES.shared_key)];
        self.run_host(Decapsulate, batch, &[secret_keys, ciphertexts], outputs)
    }

    fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PublicKeys> {
        self.import(stream, bytes, (!M::ANY_PUBLIC_KEY).then_some(CheckPublicKeys))
    }

    fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<SecretKeys> {
        self.import(stream, bytes, Some(CheckSecretKeys))
    }

    fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Ciphertexts> {
        self.import(stream, bytes, None)
    }

    fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(PublicKeys, SecretKeys)> {
        let mut public = PublicKeys::new::<M>(stream, batch)?;
        let mut secret = SecretKeys::new::<M>(stream, batch)?;
        let statuses = stream.with_draws(|draws| {
            let args = vec![draws.into(), (&mut public.bytes).into(), (&mut secret.bytes).into()];
            self.run(stream, Generate(Draws), batch, args)
        })?;
        Ok((public.with_statuses(&statuses), secret.with_statuses(&statuses)))
    }

    fn encapsulate_on(&self, stream: &Stream, public_keys: &PublicKeys) -> Result<(Ciphertexts, SharedKeys)> {
        let batch = public_keys.batch::<M>()?;
        let mut sent = Ciphertexts::new::<M>(stream, batch)?.made_from(public_keys);
        let mut shared = SharedKeys::new::<M>(stream, batch)?.made_from(public_keys);
        let statuses = stream.with_draws(|draws| {
            let [sent, shared] = [&mut sent.bytes, &mut shared.bytes].map(Arg::from);
            self.run(stream, Encapsulate(Draws), batch, vec![(&public_keys.bytes).into(), draws.into(), sent, shared])
        })?;
        Ok((sent.with_statuses(&statuses), shared.with_statuses(&statuses)))
    }

    fn decapsulate_on(
        &self,
        stream: &Stream,
        secret_keys: &SecretKeys,
        ciphertexts: &Ciphertexts,
    ) -> Result<SharedKeys> {
        let (batch, got) = (secret_keys.batch::<M>()?, ciphertexts.batch::<M>()?);
        if got != batch {
            return Err(Error::Length { what: "ciphertexts", expected: batch, got });
        }
        let mut shared = SharedKeys::new::<M>(stream, batch)?.made_from(secret_keys).made_from(ciphertexts);
        let args = vec![(&secret_keys.bytes).into(), (&ciphertexts.bytes).into(), (&mut shared.bytes).into()];
        let statuses = self.run(stream, Decapsulate, batch, args)?;
        Ok(shared.with_statuses(&statuses))
    }
}

#[cfg(feature = "hazmat")]
impl<M: Mechanism> DeterministicKem for Batch<M> {
    fn generate_from(&self, seeds: &[u8], public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Outcome> {
        batch_of("bytes of seeds", seeds.len(), KEY_SEED)?;
        self.generate_host(Randomness::Seeds, seeds, public_keys, secret_keys)
    }

    fn encapsulate_from(
        &self,
        seeds: &[u8],
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Outcome> {
        batch_of("bytes of seeds", seeds.len(), ENCAPSULATION_SEED)?;
        self.encapsulate_host(Randomness::Seeds, [public_keys, seeds], ciphertexts, shared_keys)
    }
}

impl<M: Mechanism> fmt::Debug for Batch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} on {})", M::NAME, self.device)
    }
}
