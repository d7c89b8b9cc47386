//! The scheme in batches, on any device.

mod prepared;

use core::fmt;
use core::marker::PhantomData;
use std::sync::OnceLock;

use rayon::prelude::*;
use ringforge::{Buffer, Device, Drbg, Error, Plan, Program, Result, Stream};
use ringforge_batch::items::{Ciphertexts, Items, PublicKeys, SecretKeys, SharedKeys};
use ringforge_batch::{BatchKem, Fault, Outcome, Reason, Sizes, batch_of};
#[cfg(feature = "hazmat")]
use ringforge_batch::{DeterministicKem, ENCAPSULATION_SEED, KEY_SEED};

use crate::kem::Kem;
use crate::kernels::status;
use crate::params::{ParameterSet, Parameters, SEED_BYTES};
use crate::pke::Polynomials;
use crate::plans::Plans;

pub use prepared::{PreparedPublicKey, PreparedSecretKey};

/// A parameter set made ready on a device: key generation, encapsulation and decapsulation of many items at once.
///
/// ```
/// use ringforge::Device;
/// use ringforge_batch::BatchKem;
/// use ringforge_ctru_prime::{Batch, CtruPrime761};
///
/// let (device, _why) = Device::best(); // a CUDA GPU where there is one, else the CPU
/// let kem = Batch::<CtruPrime761>::new(&device)?;
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
    prepare_public: OnceLock<Program>,
    prepare_secret: OnceLock<Program>,
    encapsulate_to_one: OnceLock<Program>,
    decapsulate_with_one: OnceLock<Program>,
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
    /// As [`Device::compile`]; [`Error::Unsupported`] where the system gives no randomness.
    pub fn new(device: &Device) -> Result<Self> {
        let compile = |plan| Self::compile(device, plan);
        Ok(Self {
            device: device.clone(),
            drbg: Drbg::from_os()?,
            generate: compile(Plans::generate)?,
            encapsulate: compile(Plans::encapsulate)?,
            decapsulate: compile(Plans::decapsulate)?,
            prepare_public: OnceLock::new(),
            prepare_secret: OnceLock::new(),
            encapsulate_to_one: OnceLock::new(),
            decapsulate_with_one: OnceLock::new(),
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

    /// New ciphertexts and shared keys.
    fn encapsulated(&self, stream: &Stream, batch: usize) -> Result<[Buffer; 2]> {
        let sizes = self.sizes();
        Ok([self.items(stream, batch, sizes.ciphertext)?, self.items(stream, batch, sizes.shared_key)?])
    }

    /// Items from the caller.
    fn import(&self, stream: &Stream, what: &'static str, bytes: &[u8], size: usize) -> Result<Items> {
        batch_of(what, bytes.len(), size)?;
        Ok(Items::new(stream, stream.upload(bytes)?, size))
    }
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
        let args = &mut [draws.as_bytes().into(), public_keys.into(), secret_keys.into()];
        self.generate.run_host(batch, args)?;
        Ok(Outcome::default())
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().encapsulations(public_keys, ciphertexts, shared_keys)?;
        let draws = self.drbg.reserve(batch as u64)?;
        let args = &mut [public_keys.into(), draws.as_bytes().into(), ciphertexts.into(), shared_keys.into()];
        self.encapsulate.run_host(batch, args)?;
        Ok(Outcome::default())
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Outcome> {
        let batch = self.sizes().decapsulations(secret_keys, ciphertexts, shared_keys)?;
        let mut statuses = vec![0u32; batch];
        let args = &mut [secret_keys.into(), ciphertexts.into(), shared_keys.into(), statuses.as_mut_slice().into()];
        self.decapsulate.run_host(batch, args)?;
        Ok(Outcome::new(status::faults(&statuses)))
    }

    /// Any bytes are a public key: see [`is_canonical`](crate::is_canonical).
    fn import_public_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<PublicKeys> {
        self.import(stream, "bytes of public keys", bytes, self.sizes().public_key).map(PublicKeys)
    }

    fn import_secret_keys(&self, stream: &Stream, bytes: &[u8]) -> Result<SecretKeys> {
        let size = self.sizes().secret_key;
        let keys = self.import(stream, "bytes of secret keys", bytes, size)?;
        let pke = &Kem::of(&P::PARAMETERS)?.pke;
        let check = |memory: &mut Polynomials, (item, key): (usize, &[u8])| {
            let place = pke.bad_field(P::PARAMETERS.parts(key)[0], memory)?;
            Ok(place.map(|coefficient| Fault { item, why: Reason::InvalidSecretKey { coefficient } }))
        };
        let memory = || Polynomials::new(P::PARAMETERS.n);
        let faults = bytes.par_chunks_exact(size).enumerate().map_init(memory, check);
        let faults = faults.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        Ok(SecretKeys(keys.with_faults(faults)))
    }

    fn import_ciphertexts(&self, stream: &Stream, bytes: &[u8]) -> Result<Ciphertexts> {
        self.import(stream, "bytes of ciphertexts", bytes, self.sizes().ciphertext).map(Ciphertexts)
    }

    fn generate_on(&self, stream: &Stream, batch: usize) -> Result<(PublicKeys, SecretKeys)> {
        let sizes = self.sizes();
        let mut public_keys = self.items(stream, batch, sizes.public_key)?;
        let mut secret_keys = self.items(stream, batch, sizes.secret_key)?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            let args = &mut [draws.into(), (&mut public_keys).into(), (&mut secret_keys).into()];
            self.generate.run(stream, batch, args)
        })?;
        let public_keys = PublicKeys(Items::new(stream, public_keys, sizes.public_key));
        Ok((public_keys, SecretKeys(Items::new(stream, secret_keys, sizes.secret_key))))
    }

    fn encapsulate_on(&self, stream: &Stream, public_keys: &PublicKeys) -> Result<(Ciphertexts, SharedKeys)> {
        let (sizes, PublicKeys(keys)) = (self.sizes(), public_keys);
        let batch = keys.batch(sizes.public_key)?;
        let [mut ciphertexts, mut shared_keys] = self.encapsulated(stream, batch)?;
        self.drbg.with_draws(stream, batch as u64, |draws| {
            let args = &mut [keys.bytes().into(), draws.into(), (&mut ciphertexts).into(), (&mut shared_keys).into()];
            self.encapsulate.run(stream, batch, args)
        })?;
        let ciphertexts = Items::new(stream, ciphertexts, sizes.ciphertext).made_with(keys);
        let shared_keys = Items::new(stream, shared_keys, sizes.shared_key).made_with(keys);
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
        program.run_host(batch, &mut [seeds.into(), public_keys.into(), secret_keys.into()])?;
        Ok(Outcome::default())
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
        let args = &mut [public_keys.into(), seeds.into(), ciphertexts.into(), shared_keys.into()];
        program.run_host(batch, args)?;
        Ok(Outcome::default())
    }
}

/// As many seeds as items.
#[cfg(feature = "hazmat")]
fn seeds_for(what: &'static str, seeds: &[u8], size: usize, batch: usize) -> Result<()> {
    let (expected, got) = (batch * size, seeds.len());
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

impl<P: ParameterSet> fmt::Debug for Batch<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameters { name, .. } = P::PARAMETERS;
        write!(f, "Batch({name} on {})", self.device)
    }
}
