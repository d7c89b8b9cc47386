//! The scheme in batches, on any device.

use core::fmt;
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ringforge::{Device, Drbg, Error, HostArg, Program, Result, Stream};
use ringforge_batch::{BatchKem, DeterministicKem, ENCAPSULATION_SEED, KEY_SEED, Outcome, Sizes, batch_of};

use crate::params::ParameterSet;
use crate::plans::{Operation, plan};
use crate::resident::{Ciphertexts, Items, PublicKeys, SecretKeys, SharedKeys, clear, faults};

/// A parameter set on a device: key generation, encapsulation and decapsulation of many items at once.
///
/// Programs are compiled when they are first needed. Keys are checked where they come in from host memory.
pub struct Batch<P> {
    device: Device,
    drbg: Drbg,
    programs: Mutex<HashMap<Operation, Program>>,
    set: PhantomData<P>,
}

impl<P: ParameterSet> Batch<P> {
    /// The set on this device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the system gives no randomness.
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self { device: device.clone(), drbg: Drbg::from_os()?, programs: Mutex::default(), set: PhantomData })
    }

    /// The program of an operation.
    ///
    /// # Errors
    /// As [`Device::compile`].
    pub fn program(&self, operation: Operation) -> Result<Program> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&operation) {
            return Ok(program.clone());
        }
        let program = self.device.compile(&plan(&P::PARAMETERS, operation, self.device.limits())?)?;
        programs.insert(operation, program.clone());
        Ok(program)
    }

    fn import<const KIND: usize>(
        &self,
        stream: &Stream,
        bytes: &[u8],
        check: Option<Operation>,
    ) -> Result<Items<KIND>> {
        let batch = batch_of(Items::<KIND>::NAME, bytes.len(), Items::<KIND>::size(&self.sizes()))?;
        let mut items = Items::new(stream, &self.sizes(), batch, Vec::new())?;
        stream.write(&mut items.bytes, bytes)?;
        if let Some(check) = check {
            let mut statuses = self.device.buffer(batch * size_of::<u32>())?;
            self.program(check)?.run(stream, batch, &mut [(&items.bytes).into(), (&mut statuses).into()])?;
            items.statuses.push(Arc::new(statuses));
        }
        Ok(items)
    }

    /// Runs a checked program over host memory; what comes of items with faults is made zero.
    fn run_checked(
        &self,
        operation: Operation,
        inputs: [&[u8]; 2],
        outputs: &mut [(&mut [u8], usize)],
        batch: usize,
    ) -> Result<Outcome> {
        let mut statuses = vec![0u32; batch];
        let mut args: Vec<HostArg<'_>> = inputs.map(HostArg::from).into();
        args.extend(outputs.iter_mut().map(|(bytes, _)| HostArg::from(&mut **bytes)));
        args.push(statuses.as_mut_slice().into());
        self.program(operation)?.run_host(batch, &mut args)?;
        let outcome = Outcome::new(faults(&statuses));
        outputs.iter_mut().for_each(|(bytes, size)| clear(&outcome, bytes, *size));
        Ok(outcome)
    }

    /// Key pairs from seeds, or from draws.
    fn run_generate(&self, drawn: bool, seeds: &[u8], public: &mut [u8], secret: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().generations(public, secret)?;
        let args = &mut [seeds.into(), public.into(), secret.into()];
        self.program(Operation::Generate { drawn })?.run_host(batch, args)?;
        Ok(Outcome::default())
    }

    /// Ciphertexts and shared keys from public keys and messages, or draws.
    fn run_encapsulate(
        &self,
        drawn: bool,
        inputs: [&[u8]; 2],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Outcome> {
        let sizes = self.sizes();
        let batch = sizes.encapsulations(inputs[0], ciphertexts, shared_keys)?;
        let outputs = &mut [(ciphertexts, sizes.ciphertext), (shared_keys, sizes.shared_key)];
        self.run_checked(Operation::Encapsulate { drawn, checked: true }, inputs, outputs, batch)
    }
}

impl<P: ParameterSet> BatchKem for Batch<P> {
    type PublicKeys = PublicKeys;
    type SecretKeys = SecretKeys;
    type Ciphertexts = Ciphertexts;
    type SharedKeys = SharedKeys;

    fn sizes(&self) -> Sizes {
        P::PARAMETERS.sizes()
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Outcome> {
        let draws = self.drbg.reserve(self.sizes().generations(public_keys, secret_keys)? as u64)?;
        self.run_generate(true, draws.as_bytes(), public_keys, secret_keys)
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().encapsulations(public_keys, ciphertexts, shared_keys)?;
        let draws = self.drbg.reserve(batch as u64)?;
        self.run_encapsulate(true, [public_keys, draws.as_bytes()], ciphertexts, shared_keys)
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let sizes = self.sizes();
        let batch = sizes.decapsulations(secret_keys, ciphertexts, shared_keys)?;
        let outputs = &mut [(shared_keys, sizes.shared_key)];
        self.run_checked(Operation::Decapsulate { checked: true }, [secret_keys, ciphertexts], outputs, batch)
    }

    fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PublicKeys> {
        self.import(stream, bytes, Some(Operation::CheckPublicKeys))
    }

    fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<SecretKeys> {
        self.import(stream, bytes, Some(Operation::CheckSecretKeys))
    }

    fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Ciphertexts> {
        self.import(stream, bytes, None)
    }

    fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(PublicKeys, SecretKeys)> {
        let mut public = PublicKeys::new(stream, &self.sizes(), batch, Vec::new())?;
        let mut secret = SecretKeys::new(stream, &self.sizes(), batch, Vec::new())?;
        let program = self.program(Operation::Generate { drawn: true })?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            program.run(stream, batch, &mut [draws.into(), (&mut public.bytes).into(), (&mut secret.bytes).into()])
        })?;
        Ok((public, secret))
    }

    fn encapsulate_on(&self, stream: &Stream, keys: &PublicKeys) -> Result<(Ciphertexts, SharedKeys)> {
        let batch = keys.batch(&self.sizes())?;
        let mut sent = Ciphertexts::new(stream, &self.sizes(), batch, keys.statuses.clone())?;
        let mut shared = SharedKeys::new(stream, &self.sizes(), batch, keys.statuses.clone())?;
        let program = self.program(Operation::Encapsulate { drawn: true, checked: false })?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            let [sent, shared] = [&mut sent.bytes, &mut shared.bytes];
            program.run(stream, batch, &mut [(&keys.bytes).into(), draws.into(), sent.into(), shared.into()])
        })?;
        Ok((sent, shared))
    }

    fn decapsulate_on(&self, stream: &Stream, keys: &SecretKeys, ciphertexts: &Ciphertexts) -> Result<SharedKeys> {
        let (batch, got) = (keys.batch(&self.sizes())?, ciphertexts.batch(&self.sizes())?);
        if got != batch {
            return Err(Error::Length { what: "ciphertexts", expected: batch, got });
        }
        let statuses = [&keys.statuses[..], &ciphertexts.statuses].concat();
        let mut shared = SharedKeys::new(stream, &self.sizes(), batch, statuses)?;
        let args = &mut [(&keys.bytes).into(), (&ciphertexts.bytes).into(), (&mut shared.bytes).into()];
        self.program(Operation::Decapsulate { checked: false })?.run(stream, batch, args)?;
        Ok(shared)
    }
}

impl<P: ParameterSet> DeterministicKem for Batch<P> {
    fn generate_from(&self, seeds: &[u8], public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Outcome> {
        batch_of("bytes of seeds", seeds.len(), KEY_SEED)?;
        self.run_generate(false, seeds, public_keys, secret_keys)
    }

    fn encapsulate_from(
        &self,
        seeds: &[u8],
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Outcome> {
        batch_of("bytes of seeds", seeds.len(), ENCAPSULATION_SEED)?;
        self.run_encapsulate(false, [public_keys, seeds], ciphertexts, shared_keys)
    }
}

impl<P: ParameterSet> fmt::Debug for Batch<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} on {})", P::PARAMETERS.name, self.device)
    }
}
