//! The scheme in batches, on any device.

use core::fmt;
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ringforge::{Buffer, Device, Drbg, Error, HostArg, Program, Result, Stream};
use ringforge_batch::{
    BatchKem, DeterministicKem, ENCAPSULATION_SEED, Fault, KEY_SEED, Outcome, Reason, Resident, Sizes, batch_of,
};

use crate::kernels::{FINE, WRONG_HASH};
use crate::params::ParameterSet;
use crate::plans::{Operation, plan};

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
        let programs = Mutex::default();
        Ok(Self { device: device.clone(), drbg: Drbg::from_os()?, programs, set: PhantomData })
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

    /// Memory for new items.
    fn memory<K: Kind>(&self, batch: usize) -> Result<Buffer> {
        let size = K::size(&self.sizes());
        let limit = usize::MAX / size;
        let bytes = batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit, got: batch })?;
        self.device.buffer(bytes)
    }

    fn import<K: Kind>(&self, stream: &Stream, bytes: &[u8], check: Option<Operation>) -> Result<Items<K>> {
        let size = K::size(&self.sizes());
        let batch = batch_of(K::NAME, bytes.len(), size)?;
        let items = Items::new(stream, stream.upload(bytes)?, size, Vec::new());
        let Some(check) = check else { return Ok(items) };
        let mut statuses = self.device.buffer(batch * size_of::<u32>())?;
        self.program(check)?.run(stream, batch, &mut [(&items.bytes).into(), (&mut statuses).into()])?;
        Ok(items.with_statuses(vec![Arc::new(statuses)]))
    }

    /// Runs a checked program over host memory; what comes of items with faults is made zero.
    fn run_checked(
        &self,
        operation: Operation,
        batch: usize,
        inputs: [&[u8]; 2],
        outputs: &mut [(&mut [u8], usize)],
    ) -> Result<Outcome> {
        let mut statuses = vec![0u32; batch];
        let mut args: Vec<HostArg<'_>> = inputs.map(HostArg::from).into();
        args.extend(outputs.iter_mut().map(|(bytes, _)| HostArg::from(&mut **bytes)));
        args.push(statuses.as_mut_slice().into());
        self.program(operation)?.run_host(batch, &mut args)?;
        drop(args);
        let outcome = Outcome::new(faults(&statuses));
        outputs.iter_mut().for_each(|(bytes, size)| clear(&outcome, bytes, *size));
        Ok(outcome)
    }

    fn run_encapsulate(
        &self,
        drawn: bool,
        [public_keys, seeds]: [&[u8]; 2],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Outcome> {
        let sizes = self.sizes();
        let batch = sizes.encapsulations(public_keys, ciphertexts, shared_keys)?;
        let outputs = &mut [(ciphertexts, sizes.ciphertext), (shared_keys, sizes.shared_key)];
        self.run_checked(Operation::Encapsulate { drawn, checked: true }, batch, [public_keys, seeds], outputs)
    }

    fn run_generate(&self, drawn: bool, seeds: &[u8], public: &mut [u8], secret: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().generations(public, secret)?;
        let program = self.program(Operation::Generate { drawn })?;
        program.run_host(batch, &mut [seeds.into(), public.into(), secret.into()])?;
        Ok(Outcome::default())
    }
}

impl<P: ParameterSet> BatchKem for Batch<P> {
    type PublicKeys = Items<PublicKey>;
    type SecretKeys = Items<SecretKey>;
    type Ciphertexts = Items<Ciphertext>;
    type SharedKeys = Items<SharedKey>;

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
        self.run_checked(Operation::Decapsulate { checked: true }, batch, [secret_keys, ciphertexts], outputs)
    }

    fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<Self::PublicKeys> {
        self.import(stream, bytes, Some(Operation::CheckPublicKeys))
    }

    fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<Self::SecretKeys> {
        self.import(stream, bytes, Some(Operation::CheckSecretKeys))
    }

    fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Self::Ciphertexts> {
        self.import(stream, bytes, None)
    }

    fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(Self::PublicKeys, Self::SecretKeys)> {
        let (mut public, mut secret) = (self.memory::<PublicKey>(batch)?, self.memory::<SecretKey>(batch)?);
        let program = self.program(Operation::Generate { drawn: true })?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            program.run(stream, batch, &mut [draws.into(), (&mut public).into(), (&mut secret).into()])
        })?;
        let sizes = self.sizes();
        let public = Items::new(stream, public, sizes.public_key, Vec::new());
        Ok((public, Items::new(stream, secret, sizes.secret_key, Vec::new())))
    }

    fn encapsulate_on(
        &self,
        stream: &Stream,
        public_keys: &Self::PublicKeys,
    ) -> Result<(Self::Ciphertexts, Self::SharedKeys)> {
        let (sizes, keys) = (self.sizes(), &public_keys.bytes);
        let batch = public_keys.batch(&sizes)?;
        let (mut sent, mut shared) = (self.memory::<Ciphertext>(batch)?, self.memory::<SharedKey>(batch)?);
        let program = self.program(Operation::Encapsulate { drawn: true, checked: false })?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            program.run(stream, batch, &mut [keys.into(), draws.into(), (&mut sent).into(), (&mut shared).into()])
        })?;
        let statuses = &public_keys.statuses;
        let sent = Items::new(stream, sent, sizes.ciphertext, statuses.clone());
        Ok((sent, Items::new(stream, shared, sizes.shared_key, statuses.clone())))
    }

    fn decapsulate_on(
        &self,
        stream: &Stream,
        secret_keys: &Self::SecretKeys,
        ciphertexts: &Self::Ciphertexts,
    ) -> Result<Self::SharedKeys> {
        let sizes = self.sizes();
        let (batch, got) = (secret_keys.batch(&sizes)?, ciphertexts.batch(&sizes)?);
        if got != batch {
            return Err(Error::Length { what: "ciphertexts", expected: batch, got });
        }
        let mut shared = self.memory::<SharedKey>(batch)?;
        let args = &mut [(&secret_keys.bytes).into(), (&ciphertexts.bytes).into(), (&mut shared).into()];
        self.program(Operation::Decapsulate { checked: false })?.run(stream, batch, args)?;
        let statuses = [&secret_keys.statuses[..], &ciphertexts.statuses].concat();
        Ok(Items::new(stream, shared, sizes.shared_key, statuses))
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

/// The faults that these statuses tell of.
fn faults(statuses: &[u32]) -> Vec<Fault> {
    let faulty = statuses.iter().enumerate().filter(|(_, status)| **status != FINE);
    let why = |status| match status {
        WRONG_HASH => Reason::InvalidSecretKey { coefficient: 0 },
        place => Reason::InvalidPublicKey { coefficient: place as usize - 1 },
    };
    faulty.map(|(item, &status)| Fault { item, why: why(status) }).collect()
}

/// Makes items with faults zero.
fn clear(outcome: &Outcome, bytes: &mut [u8], size: usize) {
    outcome.faults().iter().for_each(|fault| bytes[fault.item * size..][..size].fill(0));
}

/// A kind of items.
pub trait Kind {
    /// What errors call it.
    const NAME: &'static str;
    /// Whether it is wiped when dropped.
    const SECRET: bool;
    /// Bytes of an item.
    fn size(sizes: &Sizes) -> usize;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $field:ident, $name:literal, $secret:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind;

        impl Kind for $kind {
            const NAME: &'static str = $name;
            const SECRET: bool = $secret;
            fn size(sizes: &Sizes) -> usize {
                sizes.$field
            }
        }
    )*};
}

kinds! {
    /// Public keys.
    PublicKey: public_key, "bytes of public keys", false;
    /// Secret keys.
    SecretKey: secret_key, "bytes of secret keys", true;
    /// Ciphertexts.
    Ciphertext: ciphertext, "bytes of ciphertexts", false;
    /// Shared keys.
    SharedKey: shared_key, "bytes of shared keys", true;
}

/// Items of one kind on a device: their bytes without gaps, and the statuses of what they were made from.
pub struct Items<K: Kind> {
    stream: Stream,
    bytes: Buffer,
    size: usize,
    statuses: Vec<Arc<Buffer>>,
    kind: PhantomData<K>,
}

impl<K: Kind> Items<K> {
    fn new(stream: &Stream, bytes: Buffer, size: usize, statuses: Vec<Arc<Buffer>>) -> Self {
        Self { stream: stream.clone(), bytes, size, statuses, kind: PhantomData }
    }

    fn with_statuses(mut self, statuses: Vec<Arc<Buffer>>) -> Self {
        self.statuses = statuses;
        self
    }

    /// The number of items, if they are of a set with these sizes.
    fn batch(&self, sizes: &Sizes) -> Result<usize> {
        let expected = K::size(sizes);
        if self.size == expected {
            Ok(self.len())
        } else {
            Err(Error::Length { what: K::NAME, expected, got: self.size })
        }
    }
}

impl<K: Kind> Resident for Items<K> {
    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn outcome(&self, stream: &Stream) -> Result<Outcome> {
        let statuses = self.statuses.iter().map(|statuses| stream.download::<u32>(statuses));
        let faults = statuses.map(|statuses| Ok(faults(&statuses?))).collect::<Result<Vec<_>>>()?;
        Ok(Outcome::new(faults.concat()))
    }

    fn export(&self, stream: &Stream, to: &mut [u8]) -> Result<Outcome> {
        stream.read(&self.bytes, to)?;
        let outcome = self.outcome(stream)?;
        clear(&outcome, to, self.size);
        Ok(outcome)
    }
}

impl<K: Kind> Drop for Items<K> {
    fn drop(&mut self) {
        if K::SECRET {
            // nobody is left to hear of a device that no longer answers
            let _ = self.stream.wipe(&mut self.bytes);
        }
    }
}

impl<K: Kind> fmt::Debug for Items<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} times {} bytes on {}", self.len(), self.size, self.stream.device())
    }
}
