//! ML-DSA signatures of messages, in batches, selected by name.

use core::fmt;

use ringforge::{Engine, Error, Result};
use ringforge_batch::{Messages, SignatureScheme, SignatureSizes, Signatures};
use ringforge_ml_dsa::{MlDsa44, MlDsa65, MlDsa87};

use crate::fault::Fault;
use crate::process::may_work;

/// ML-DSA (FIPS 204), compiled for an engine's device. Item i of an argument begins at i times the item's size.
pub struct MlDsa {
    name: &'static str,
    backend: Box<dyn Backend>,
}

/// [`Signatures`] as a trait object, without the type of its scheme.
trait Backend: Send + Sync {
    fn sizes(&self) -> SignatureSizes;
    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>>;
    fn sign(&self, secret_keys: &[u8], messages: &Messages<'_>, signatures: &mut [u8]) -> Result<Vec<Fault>>;
    fn verify(&self, public_keys: &[u8], messages: &Messages<'_>, signatures: &[u8]) -> Result<Vec<Fault>>;
}

impl<M: SignatureScheme> Backend for Signatures<M> {
    fn sizes(&self) -> SignatureSizes {
        M::SIZES
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>> {
        self.generate(public_keys, secret_keys).map(|status| Fault::of(&status))
    }

    fn sign(&self, secret_keys: &[u8], messages: &Messages<'_>, signatures: &mut [u8]) -> Result<Vec<Fault>> {
        self.sign(secret_keys, messages, signatures).map(|status| Fault::of(&status))
    }

    fn verify(&self, public_keys: &[u8], messages: &Messages<'_>, signatures: &[u8]) -> Result<Vec<Fault>> {
        self.verify(public_keys, messages, signatures).map(|status| Fault::of(&status))
    }
}

type Make = fn(&Engine) -> Result<Box<dyn Backend>>;

fn entry<M: SignatureScheme>() -> (&'static str, Make) {
    (M::NAME, |engine| Ok(Box::new(Signatures::<M>::new(engine)?)))
}

impl MlDsa {
    /// Compiles the parameter set of this name, such as `ML-DSA-65`, for the engine's device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no set of this name, and in a forked process (see [`may_work`]); the errors
    /// of [`Signatures::new`].
    pub fn new(engine: &Engine, name: &str) -> Result<Self> {
        let entries = [entry::<MlDsa44>(), entry::<MlDsa65>(), entry::<MlDsa87>()];
        let Some((name, make)) = entries.into_iter().find(|(entry, _)| *entry == name) else {
            let why = format!("the name must be one of {}", entries.map(|(entry, _)| entry).join(", "));
            return Err(Error::Unsupported { job: format!("signatures {name:?}"), why });
        };
        may_work()?;
        Ok(Self { name, backend: make(engine)? })
    }

    /// Sizes, in bytes, of keys and signatures.
    #[must_use]
    pub fn sizes(&self) -> SignatureSizes {
        self.backend.sizes()
    }

    /// Fills both slices with new key pairs, from the system's randomness.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Signatures::generate`].
    pub fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.backend.generate(public_keys, secret_keys)
    }

    /// Signs each message with its secret key, or all messages with a single key. Signing is hedged.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Signatures::sign`].
    pub fn sign(&self, secret_keys: &[u8], messages: &Messages<'_>, signatures: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.backend.sign(secret_keys, messages, signatures)
    }

    /// Verifies signatures of messages. A signature that is not valid is a [`Fault`] of its item.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Signatures::verify`].
    pub fn verify(&self, public_keys: &[u8], messages: &Messages<'_>, signatures: &[u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.backend.verify(public_keys, messages, signatures)
    }
}

impl fmt::Debug for MlDsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MlDsa({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_signed_by_every_set() {
        let messages: [&[u8]; 3] = [b"", b"a message", &[7; 300]];
        let messages = Messages::new(&messages).with_context(b"here").unwrap();
        for name in ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"] {
            let dsa = MlDsa::new(&Engine::cpu(), name).unwrap();
            let sizes = dsa.sizes();
            let (mut public, mut secret) = (vec![0; 3 * sizes.public_key], vec![0; 3 * sizes.secret_key]);
            let mut signatures = vec![0; 3 * sizes.signature];
            assert_eq!(dsa.generate(&mut public, &mut secret).unwrap(), []);
            assert_eq!(dsa.sign(&secret, &messages, &mut signatures).unwrap(), []);
            assert_eq!(dsa.verify(&public, &messages, &signatures).unwrap(), []);
            signatures[sizes.signature] ^= 1;
            let faults = dsa.verify(&public, &messages, &signatures).unwrap();
            assert_eq!(faults, [Fault { item: 1, status: 10 }], "{name}");
            assert_eq!(faults[0].message(), "the signature is not one of this message by this key");
        }
        assert!(matches!(MlDsa::new(&Engine::cpu(), "ML-DSA"), Err(Error::Unsupported { .. })));
    }
}
