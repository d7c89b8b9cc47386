//! Key encapsulation mechanisms by name.

use core::fmt;

use ringforge::{Engine, Error, Result};
use ringforge_batch::{Batch, KemScheme, Sizes};
use ringforge_ctru::{Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru768R, Ctru1024};
use ringforge_ctru_prime::{CtruPrime653, CtruPrime761, CtruPrime1277};

use crate::fault::Fault;
use crate::process::may_work;

/// A mechanism made ready on an engine's device. Item i of each argument lies at i times its size.
pub struct Kem {
    name: &'static str,
    mechanism: Box<dyn Mechanism>,
}

/// [`Batch`] without the mechanism's type.
trait Mechanism: Send + Sync {
    fn sizes(&self) -> Sizes;
    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>>;
    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>>;
    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>>;
}

impl<M: KemScheme> Mechanism for Batch<M> {
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

/// A name, and how the mechanism is made ready.
type Entry = (&'static str, fn(&Engine) -> Result<Box<dyn Mechanism>>);

fn entry<M: KemScheme>() -> Entry {
    (M::NAME, |engine| Ok(Box::new(Batch::<M>::new(engine)?)))
}

fn entries() -> [Entry; 10] {
    [
        entry::<Ctru512>(),
        entry::<Ctru768>(),
        entry::<Ctru1024>(),
        entry::<Ctru768R>(),
        entry::<Cntr512>(),
        entry::<Cntr768>(),
        entry::<Cntr1024>(),
        entry::<CtruPrime653>(),
        entry::<CtruPrime761>(),
        entry::<CtruPrime1277>(),
    ]
}

impl Kem {
    /// The names of all mechanisms.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        entries().into_iter().map(|(name, _)| name)
    }

    /// The mechanism of this name.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where there is none of the name; as [`Batch::new`].
    pub fn new(engine: &Engine, name: &str) -> Result<Self> {
        let Some((name, make)) = entries().into_iter().find(|(of, _)| *of == name) else {
            let why = format!("there are {}", Self::names().collect::<Vec<_>>().join(", "));
            return Err(Error::Unsupported { job: format!("the mechanism {name:?}"), why });
        };
        may_work()?;
        Ok(Self { name, mechanism: make(engine)? })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Sizes of items.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.mechanism.sizes()
    }

    /// Fills both slices with new key pairs.
    ///
    /// # Errors
    /// As [`Batch::generate`].
    pub fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.mechanism.generate(public_keys, secret_keys)
    }

    /// Fills the last two slices with new shared keys and their ciphertexts, one for each public key.
    ///
    /// # Errors
    /// As [`Batch::encapsulate`].
    pub fn encapsulate(
        &self,
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        shared_keys: &mut [u8],
    ) -> Result<Vec<Fault>> {
        may_work()?;
        self.mechanism.encapsulate(public_keys, ciphertexts, shared_keys)
    }

    /// Fills the last slice with the shared key of each ciphertext.
    ///
    /// # Errors
    /// As [`Batch::decapsulate`].
    pub fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.mechanism.decapsulate(secret_keys, ciphertexts, shared_keys)
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
    fn every_name_is_one_mechanism() {
        let engine = Engine::cpu();
        let names: Vec<&str> = Kem::names().collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            let kem = Kem::new(&engine, name).unwrap();
            let sizes = kem.sizes();
            let (mut public, mut secret) = (vec![0; 2 * sizes.public_key], vec![0; 2 * sizes.secret_key]);
            let (mut sent, mut keys) = (vec![0; 2 * sizes.ciphertext], [vec![0; 64], vec![1; 64]]);
            assert_eq!(kem.generate(&mut public, &mut secret).unwrap(), []);
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
