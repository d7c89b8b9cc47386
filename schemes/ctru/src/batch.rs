//! The scheme in batches, on any device.

use core::fmt;
use core::marker::PhantomData;
#[cfg(feature = "hazmat")]
use std::sync::OnceLock;

use rayon::prelude::*;
use ringforge::{Buffer, Device, Drbg, Error, HostArg, Plan, Program, Result, Stream};
use ringforge_batch::items::{Ciphertexts, Items, PublicKeys, SecretKeys, SharedKeys};
use ringforge_batch::{BatchKem, Fault, Outcome, Reason, Sizes, batch_of};
#[cfg(feature = "hazmat")]
use ringforge_batch::{DeterministicKem, ENCAPSULATION_SEED, KEY_SEED};

use crate::kem::Kem;
use crate::kernels::status;
use crate::params::{ParameterSet, Parameters, SEED_BYTES};
use crate::pke::Polynomials;
use crate::plans::Plans;

/// A parameter set made ready on a device: key generation, encapsulation and decapsulation of many items at once.
///
/// ```
/// use ringforge::Device;
/// use ringforge_batch::BatchKem;
/// use ringforge_ctru::{Batch, Ctru768};
///
/// let (device, _why) = Device::best(); // a CUDA GPU where there is one, else the CPU
/// let kem = Batch::<Ctru768>::new(&device)?;
/// let sizes = kem.sizes();
/// let (mut public_keys, mut secret_keys) = (vec![0; 3 * sizes.public_key], vec![0; 3 * sizes.secret_key]);
/// kem.generate(&mut public_keys, &mut secret_keys)?.all()?;
///
/// let (mut ciphertexts, mut sent) = (vec![0; 3 * sizes.ciphertext], vec![0; 3 * sizes.shared_key]);
/// kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.all()?;
///
/// let mut received = vec![0; 3 * sizes.shared_key];
/// kem.decapsulate(&secret_keys, &ciphertexts, &mut received)?.all()?;
/// assert_eq!(sent, received);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch<P> {
    device: Device,
    drbg: Drbg,
    generate: Program,
    encapsulate: Program,
    decapsulate: Program,
    #[cfg(feature = "hazmat")]
    generate_from: OnceLock<Program>,
    #[cfg(feature = "hazmat")]
    encapsulate_from: OnceLock<Program>,
    set: PhantomData<P>,
}

impl<P: ParameterSet> Batch<P> {
    /// Makes the programs ready.
    ///
    /// # Errors
    /// As [`Device::compile`]; [`Error::Unsupported`] on a GPU for [`Ctru768R`](crate::Ctru768R), and where the system
    /// gives no randomness.
    pub fn new(device: &Device) -> Result<Self> {
        let compile = |plan| Self::compile(device, plan);
        Ok(Self {
            device: device.clone(),
            drbg: Drbg::from_os()?,
            generate: compile(Plans::generate)?,
            encapsulate: compile(Plans::encapsulate)?,
            decapsulate: compile(Plans::decapsulate)?,
            #[cfg(feature = "hazmat")]
            generate_from: OnceLock::new(),
            #[cfg(feature = "hazmat")]
            encapsulate_from: OnceLock::new(),
            set: PhantomData,
        })
    }

    fn compile(device: &Device, plan: fn(&Plans) -> Result<Plan>) -> Result<Program> {
        device.compile(&plan(&Plans::new(&P::PARAMETERS, device.limits()))?)
    }

    /// The program of a plan, compiled when it is first asked for.
    #[cfg(feature = "hazmat")]
    fn later<'a>(&self, place: &'a OnceLock<Program>, plan: fn(&Plans) -> Result<Plan>) -> Result<&'a Program> {
        if let Some(program) = place.get() {
            return Ok(program);
        }
        let program = Self::compile(&self.device, plan)?;
        Ok(place.get_or_init(|| program))
    }

    /// New items that a program writes.
    fn items(&self, stream: &Stream, batch: usize, size: usize) -> Result<Buffer> {
        let limit = usize::MAX / size;
        let bytes = batch.checked_mul(size).ok_or(Error::TooLarge { what: "the batch", limit, got: batch })?;
        stream.device().buffer(bytes)
    }

    /// Items from the caller, and what is wrong with them.
    fn import(
        &self,
        stream: &Stream,
        what: &'static str,
        bytes: &[u8],
        size: usize,
        check: impl Fn(&Kem, &[u8], &mut Polynomials) -> Result<Option<Reason>> + Sync,
    ) -> Result<Items> {
        batch_of(what, bytes.len(), size)?;
        let kem = Kem::of(&P::PARAMETERS)?;
        let memory = || Polynomials::new(P::PARAMETERS.n);
        let faults = bytes
            .par_chunks_exact(size)
            .enumerate()
            .map_init(memory, |memory, (item, bytes)| Ok(check(kem, bytes, memory)?.map(|why| Fault { item, why })));
        let faults = faults.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        Ok(Items::new(stream, stream.upload(bytes)?, size).with_faults(faults))
    }
}

/// Runs a program over host memory and reads the statuses, its last argument.
fn run_host(program: &Program, batch: usize, args: Vec<HostArg<'_>>) -> Result<Outcome> {
    let mut statuses = vec![0u32; batch];
    let mut args: Vec<HostArg<'_>> = args.into_iter().chain([statuses.as_mut_slice().into()]).collect();
    program.run_host(batch, &mut args)?;
    drop(args);
    Ok(Outcome::new(status::faults(&statuses)))
}

impl<P: ParameterSet> BatchKem for Batch<P> {
    type PublicKeys = PublicKeys;
    type SecretKeys = SecretKeys;
    type Ciphertexts = Ciphertexts;
    type SharedKeys = SharedKeys;

    fn sizes(&self) -> Sizes {
        let p = P::PARAMETERS;
        Sizes {
            public_key: p.public_key_bytes(),
            secret_key: p.secret_key_bytes(),
            ciphertext: p.ciphertext_bytes(),
            shared_key: SEED_BYTES,
        }
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().generations(public_keys, secret_keys)?;
        let draws = self.drbg.reserve(batch as u64)?;
        run_host(&self.generate, batch, vec![draws.as_bytes().into(), public_keys.into(), secret_keys.into()])
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().encapsulations(public_keys, ciphertexts, shared_keys)?;
        let draws = self.drbg.reserve(batch as u64)?;
        let args = vec![public_keys.into(), draws.as_bytes().into(), ciphertexts.into(), shared_keys.into()];
        run_host(&self.encapsulate, batch, args)
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().decapsulations(secret_keys, ciphertexts, shared_keys)?;
        run_host(&self.decapsulate, batch, vec![secret_keys.into(), ciphertexts.into(), shared_keys.into()])
    }

    fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PublicKeys> {
        let size = self.sizes().public_key;
        let check = |kem: &Kem, key: &[u8], memory: &mut Polynomials| bad_public_key(kem, key, memory);
        self.import(stream, "bytes of public keys", bytes, size, check).map(PublicKeys)
    }

    fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<SecretKeys> {
        let size = self.sizes().secret_key;
        let check = |kem: &Kem, key: &[u8], memory: &mut Polynomials| {
            let [pke_key, public_key, _] = P::PARAMETERS.parts(key);
            match kem.pke.bad_field(pke_key, memory)? {
                Some(coefficient) => Ok(Some(Reason::InvalidSecretKey { coefficient })),
                None => bad_public_key(kem, public_key, memory),
            }
        };
        self.import(stream, "bytes of secret keys", bytes, size, check).map(SecretKeys)
    }

    fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Ciphertexts> {
        let size = self.sizes().ciphertext;
        self.import(stream, "bytes of ciphertexts", bytes, size, |_, _, _| Ok(None)).map(Ciphertexts)
    }

    fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(PublicKeys, SecretKeys)> {
        let sizes = self.sizes();
        let mut public_keys = self.items(stream, batch, sizes.public_key)?;
        let mut secret_keys = self.items(stream, batch, sizes.secret_key)?;
        let mut statuses = self.items(stream, batch, size_of::<u32>())?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            let args =
                &mut [draws.into(), (&mut public_keys).into(), (&mut secret_keys).into(), (&mut statuses).into()];
            self.generate.run(stream, batch, args)
        })?;
        let public_keys = Items::new(stream, public_keys, sizes.public_key).with_statuses(statuses, status::faults);
        let secret_keys = Items::new(stream, secret_keys, sizes.secret_key).made_with(&public_keys);
        Ok((PublicKeys(public_keys), SecretKeys(secret_keys)))
    }

    fn encapsulate_on(&self, stream: &Stream, public_keys: &PublicKeys) -> Result<(Ciphertexts, SharedKeys)> {
        let (sizes, PublicKeys(keys)) = (self.sizes(), public_keys);
        let batch = keys.batch(sizes.public_key)?;
        let mut ciphertexts = self.items(stream, batch, sizes.ciphertext)?;
        let mut shared_keys = self.items(stream, batch, sizes.shared_key)?;
        let mut statuses = self.items(stream, batch, size_of::<u32>())?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            let out = [(&mut ciphertexts).into(), (&mut shared_keys).into(), (&mut statuses).into()];
            let [ciphertexts, shared_keys, statuses] = out;
            let args = &mut [keys.bytes().into(), draws.into(), ciphertexts, shared_keys, statuses];
            self.encapsulate.run(stream, batch, args)
        })?;
        let ciphertexts =
            Items::new(stream, ciphertexts, sizes.ciphertext).with_statuses(statuses, status::faults).made_with(keys);
        let shared_keys = Items::new(stream, shared_keys, sizes.shared_key).made_with(&ciphertexts);
        Ok((Ciphertexts(ciphertexts), SharedKeys(shared_keys)))
    }

    fn decapsulate_on(
        &self,
        stream: &Stream,
        secret_keys: &SecretKeys,
        ciphertexts: &Ciphertexts,
    ) -> Result<SharedKeys> {
        let (sizes, SecretKeys(keys), Ciphertexts(ciphertexts)) = (self.sizes(), secret_keys, ciphertexts);
        let batch = keys.batch(sizes.secret_key)?;
        let got = ciphertexts.batch(sizes.ciphertext)?;
        if got != batch {
            return Err(Error::Length { what: "ciphertexts", expected: batch, got });
        }
        let mut shared_keys = self.items(stream, batch, sizes.shared_key)?;
        let mut statuses = self.items(stream, batch, size_of::<u32>())?;
        let out = [(&mut shared_keys).into(), (&mut statuses).into()];
        let [out_keys, out_statuses] = out;
        let args = &mut [keys.bytes().into(), ciphertexts.bytes().into(), out_keys, out_statuses];
        self.decapsulate.run(stream, batch, args)?;
        let shared_keys = Items::new(stream, shared_keys, sizes.shared_key).with_statuses(statuses, status::faults);
        Ok(SharedKeys(shared_keys.made_with(keys).made_with(ciphertexts)))
    }
}

#[cfg(feature = "hazmat")]
impl<P: ParameterSet> DeterministicKem for Batch<P> {
    fn generate_from(&self, seeds: &[u8], public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().generations(public_keys, secret_keys)?;
        seeds_for("bytes of seeds", seeds, KEY_SEED, batch)?;
        let program = self.later(&self.generate_from, Plans::generate_from)?;
        run_host(program, batch, vec![seeds.into(), public_keys.into(), secret_keys.into()])
    }

    fn encapsulate_from(
        &self,
        seeds: &[u8],
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Outcome> {
        let batch = self.sizes().encapsulations(public_keys, ciphertexts, shared_keys)?;
        seeds_for("bytes of seeds", seeds, ENCAPSULATION_SEED, batch)?;
        let program = self.later(&self.encapsulate_from, Plans::encapsulate_from)?;
        run_host(program, batch, vec![public_keys.into(), seeds.into(), ciphertexts.into(), shared_keys.into()])
    }
}

/// As many seeds as items.
#[cfg(feature = "hazmat")]
fn seeds_for(what: &'static str, seeds: &[u8], size: usize, batch: usize) -> Result<()> {
    let (expected, got) = (batch * size, seeds.len());
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

fn bad_public_key(kem: &Kem, key: &[u8], memory: &mut Polynomials) -> Result<Option<Reason>> {
    let place = kem.pke.bad_value(key, memory)?;
    Ok(place.map(|coefficient| Reason::InvalidPublicKey { coefficient }))
}

impl<P: ParameterSet> fmt::Debug for Batch<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameters { name, .. } = P::PARAMETERS;
        write!(f, "Batch({name} on {})", self.device)
    }
}
