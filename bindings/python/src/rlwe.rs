//! Keys of homomorphic schemes, which CKKS and BFV share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ringforge_bindings::may_work;
use ringforge_rlwe::{self as rlwe, Randomness};

use crate::error::{exception, named};

/// Classes that hold an object of a crate.
macro_rules! classes {
    ($of:ident: $($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, module = "pyringforge._native")]
        #[derive(Debug)]
        pub(crate) struct $name(pub(crate) $of::$name);
    )*};
}
pub(crate) use classes;

classes! {
    rlwe:
    /// A secret key.
    SecretKey,
    /// A public key.
    PublicKey,
    /// A relinearisation key.
    RelinearisationKey,
    /// Keys for rotations and conjugation.
    GaloisKeys
}

/// An error of a scheme: one of the engine, or the message of another one, which is an invalid argument.
pub(crate) enum Failure {
    Engine(ringforge::Error),
    Argument(String),
}

macro_rules! failures {
    ($($of:ident),*) => {$(
        impl From<$of::Error> for Failure {
            fn from(error: $of::Error) -> Self {
                match error {
                    $of::Error::Engine(error) => Self::Engine(error),
                    other => Self::Argument(other.to_string()),
                }
            }
        }
    )*};
}
failures!(ringforge_rlwe, ringforge_ckks, ringforge_bfv);

/// Runs work without the GIL, unless this process was forked. Converts an error to an exception of the package.
pub(crate) fn run<T: Send, E: Into<Failure>>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let done = || may_work().map_err(Failure::Engine).and_then(|()| work().map_err(Into::into));
    py.detach(done).map_err(|error| match error {
        Failure::Engine(error) => exception(&error),
        Failure::Argument(message) => named("ArgumentError", message),
    })
}

/// A scheme's source of randomness.
#[derive(Debug, Clone)]
pub(crate) struct SharedRandomness(Arc<Mutex<Randomness>>);

impl SharedRandomness {
    pub(crate) fn new(seed: Option<[u8; 32]>) -> Self {
        Self(Arc::new(Mutex::new(seed.map_or_else(Randomness::system, Randomness::from_seed))))
    }

    pub(crate) fn get(&self) -> MutexGuard<'_, Randomness> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Generates a scheme's keys, and reads and writes their bytes.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct KeyGenerator {
    keys: rlwe::KeyGenerator,
    randomness: SharedRandomness,
}

impl KeyGenerator {
    pub(crate) fn new(keys: &rlwe::KeyGenerator, randomness: &SharedRandomness) -> Self {
        Self { keys: keys.clone(), randomness: randomness.clone() }
    }
}

#[pymethods]
impl KeyGenerator {
    fn secret_key(&self, py: Python<'_>) -> PyResult<SecretKey> {
        run(py, || self.keys.secret_key(&mut self.randomness.get())).map(SecretKey)
    }

    fn public_key(&self, py: Python<'_>, secret: &SecretKey) -> PyResult<PublicKey> {
        run(py, || self.keys.public_key(&secret.0, &mut self.randomness.get())).map(PublicKey)
    }

    fn relinearisation_key(&self, py: Python<'_>, secret: &SecretKey) -> PyResult<RelinearisationKey> {
        run(py, || self.keys.relinearisation_key(&secret.0, &mut self.randomness.get())).map(RelinearisationKey)
    }

    fn galois_keys(
        &self,
        py: Python<'_>,
        secret: &SecretKey,
        rotations: Vec<i64>,
        conjugates: bool,
    ) -> PyResult<GaloisKeys> {
        let made = || self.keys.galois_keys(&secret.0, &rotations, conjugates, &mut self.randomness.get());
        run(py, made).map(GaloisKeys)
    }

    /// The bytes of a public key, of a relinearisation key and of rotation keys.
    fn write<'py>(
        &self,
        py: Python<'py>,
        public: &PublicKey,
        relinearise: &RelinearisationKey,
        galois: &GaloisKeys,
    ) -> PyResult<[Bound<'py, PyBytes>; 3]> {
        let bytes = || -> rlwe::Result<_> {
            let public = self.keys.public_key_to_bytes(&public.0)?;
            let relinearise = self.keys.relinearisation_key_to_bytes(&relinearise.0)?;
            Ok([public, relinearise, self.keys.galois_keys_to_bytes(&galois.0)?])
        };
        Ok(run(py, bytes)?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn read(
        &self,
        py: Python<'_>,
        public: &[u8],
        relinearise: &[u8],
        galois: &[u8],
    ) -> PyResult<(PublicKey, RelinearisationKey, GaloisKeys)> {
        let keys = || -> rlwe::Result<_> {
            let public = PublicKey(self.keys.public_key_from_bytes(public)?);
            let relinearise = RelinearisationKey(self.keys.relinearisation_key_from_bytes(relinearise)?);
            Ok((public, relinearise, GaloisKeys(self.keys.galois_keys_from_bytes(galois)?)))
        };
        run(py, keys)
    }

    fn write_secret_key<'py>(&self, py: Python<'py>, key: &SecretKey) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run(py, || self.keys.secret_key_to_bytes(&key.0))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn read_secret_key(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<SecretKey> {
        run(py, || self.keys.secret_key_from_bytes(bytes)).map(SecretKey)
    }
}
