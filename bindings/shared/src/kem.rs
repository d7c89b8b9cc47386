//! KEMs (key encapsulation), selected by name.

use core::fmt;

use ringforge::{Engine, Error, Result};
use ringforge_batch::{Batch, KemScheme, Sizes, batch_of};
use ringforge_ctru::{self as ctru, Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru1024};
use ringforge_ctru_prime::{self as ctru_prime, CtruPrime653, CtruPrime761, CtruPrime1277};
use ringforge_ml_kem::{MlKem512, MlKem768, MlKem1024, is_canonical};

use crate::fault::Fault;
use crate::process::may_work;

/// A KEM (key encapsulation), compiled for an engine's device. Item i of an argument begins at i times the item's size.
pub struct Kem {
    name: &'static str,
    kem: Box<dyn KemBackend>,
    is_canonical: fn(&[u8]) -> Result<bool>,
}

/// [`Batch`] as a trait object, without the type of its scheme.
trait KemBackend: Send + Sync {
    fn sizes(&self) -> Sizes;
    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>>;
    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>>;
    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>>;
}

impl<M: KemScheme> KemBackend for Batch<M> {
    fn sizes(&self) -> Sizes {
        M::SIZES
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>> {
        self.generate(public_keys, secret_keys).map(|status| Fault::of(&status))
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>> {
        self.encapsulate(public_keys, ciphertexts, shared_keys).map(|status| Fault::of(&status))
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>> {
        self.decapsulate(secret_keys, ciphertexts, shared_keys).map(|status| Fault::of(&status))
    }
}

/// The name of a KEM with the functions that make it and that check public keys.
struct Entry {
    name: &'static str,
    make: fn(&Engine) -> Result<Box<dyn KemBackend>>,
    is_canonical: fn(&[u8]) -> Result<bool>,
}

impl Entry {
    fn new<M: KemScheme>(is_canonical: fn(&[u8]) -> Result<bool>) -> Self {
        Self { name: M::NAME, make: |engine| Ok(Box::new(Batch::<M>::new(engine)?)), is_canonical }
    }

    fn ctru<P: ctru::ParameterSet + KemScheme>() -> Self {
        Self::new::<P>(|key| Ok(key.try_into().is_ok_and(|key| ctru::EncapsulationKey::<P>::from_bytes(key).is_ok())))
    }

    fn prime<P: ctru_prime::ParameterSet + KemScheme>() -> Self {
        Self::new::<P>(ctru_prime::is_canonical::<P>)
    }
}

fn entries() -> [Entry; 12] {
    [
        Entry::ctru::<Ctru512>(),
        Entry::ctru::<Ctru768>(),
        Entry::ctru::<Ctru1024>(),
        Entry::ctru::<Cntr512>(),
        Entry::ctru::<Cntr768>(),
        Entry::ctru::<Cntr1024>(),
        Entry::prime::<CtruPrime653>(),
        Entry::prime::<CtruPrime761>(),
        Entry::prime::<CtruPrime1277>(),
        Entry::new::<MlKem512>(|key| Ok(is_canonical(key))),
        Entry::new::<MlKem768>(|key| Ok(is_canonical(key))),
        Entry::new::<MlKem1024>(|key| Ok(is_canonical(key))),
    ]
}

impl Kem {
    /// The names of all KEMs.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        entries().into_iter().map(|entry| entry.name)
    }

    /// Compiles the KEM of this name for the engine's device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no KEM of this name, and in a forked process (see [`may_work`]); the errors
    /// of [`Batch::new`].
    pub fn new(engine: &Engine, name: &str) -> Result<Self> {
        let Some(Entry { name, make, is_canonical }) = entries().into_iter().find(|entry| entry.name == name) else {
            let why = format!("the name must be one of {}", Self::names().collect::<Vec<_>>().join(", "));
            return Err(Error::Unsupported { job: format!("KEM {name:?}"), why });
        };
        may_work()?;
        Ok(Self { name, kem: make(engine)?, is_canonical })
    }

    /// The name of the KEM.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Sizes, in bytes, of the keys and the ciphertext of one item.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.kem.sizes()
    }

    /// Fills both slices with new key pairs, from the system's randomness.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Batch::generate`].
    pub fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.kem.generate(public_keys, secret_keys)
    }

    /// Returns true for each public key with a canonical encoding, as key generation produces it. Another encoding of
    /// the same key has another hash. CTRU, CNTR and ML-KEM reject other encodings in [`Kem::encapsulate`]; CTRU-Prime
    /// accepts them, because it decodes any bytes to some key. Runs on the CPU.
    ///
    /// # Errors
    /// [`Error::Length`] if the last key is incomplete.
    pub fn are_canonical(&self, public_keys: &[u8]) -> Result<Vec<bool>> {
        let size = self.sizes().public_key;
        batch_of("bytes of public keys", public_keys.len(), size)?;
        public_keys.chunks_exact(size).map(self.is_canonical).collect()
    }

    /// Generates a shared key and its ciphertext for each public key.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Batch::encapsulate`].
    pub fn encapsulate(
        &self,
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Vec<Fault>> {
        may_work()?;
        self.kem.encapsulate(public_keys, ciphertexts, shared_keys)
    }

    /// Computes the shared key of each ciphertext with its secret key. A rejected ciphertext yields a pseudorandom key
    /// (implicit rejection).
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Batch::decapsulate`].
    pub fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.kem.decapsulate(secret_keys, ciphertexts, shared_keys)
    }
}

impl fmt::Debug for Kem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kem({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_kem_works() {
        let engine = Engine::cpu();
        let names: Vec<&str> = Kem::names().collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            let kem = Kem::new(&engine, name).unwrap();
            let sizes = kem.sizes();
            let (mut public, mut secret) = (vec![0; 2 * sizes.public_key], vec![0; 2 * sizes.secret_key]);
            let (mut sent, mut keys) = (vec![0; 2 * sizes.ciphertext], [vec![0; 64], vec![1; 64]]);
            assert_eq!(kem.generate(&mut public, &mut secret).unwrap(), []);
            assert_eq!(kem.are_canonical(&public).unwrap(), [true; 2]);
            assert_eq!(kem.are_canonical(&vec![0xff; sizes.public_key]).unwrap(), [false], "{name}");
            assert!(matches!(kem.are_canonical(&public[1..]), Err(Error::Length { .. })));
            assert_eq!(kem.encapsulate(&public, &mut sent, &mut keys[0]).unwrap(), []);
            assert_eq!(kem.decapsulate(&secret, &sent, &mut keys[1]).unwrap(), []);
            assert_eq!(keys[0], keys[1], "{name}");
        }
        assert!(matches!(Kem::new(&engine, "CTRU"), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn faults_name_their_items() {
        let kem = Kem::new(&Engine::cpu(), "CTRU-768").unwrap();
        let sizes = kem.sizes();
        let (mut public, mut secret) = (vec![0; 3 * sizes.public_key], vec![0; 3 * sizes.secret_key]);
        assert_eq!(kem.generate(&mut public, &mut secret).unwrap(), []);
        public[sizes.public_key..2 * sizes.public_key].fill(0xff);
        let (mut sent, mut keys) = (vec![0; 3 * sizes.ciphertext], vec![0; 3 * sizes.shared_key]);
        let faults = kem.encapsulate(&public, &mut sent, &mut keys).unwrap();
        assert_eq!(faults, [Fault { item: 1, status: 2 }]);
        assert_eq!(faults[0].message(), "coefficient 0 of the public key is not below the modulus");
    }
}
