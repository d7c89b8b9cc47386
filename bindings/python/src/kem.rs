//! KEMs (key encapsulation) in batches. Arguments are flat arrays of bytes.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;

use crate::engine::Engine;
use crate::error::{Faults, exception, faults};

/// A KEM (key encapsulation), compiled for an engine's device.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Kem(ringforge_bindings::Kem);

/// The names of all KEMs.
#[pyfunction]
pub(crate) fn kems() -> Vec<&'static str> {
    ringforge_bindings::Kem::names().collect()
}

#[pymethods]
impl Kem {
    /// Compiles the KEM of this name for the engine's device.
    #[new]
    fn new(py: Python<'_>, engine: &Engine, name: &str) -> PyResult<Self> {
        let kem = py.detach(|| ringforge_bindings::Kem::new(&engine.engine, name));
        kem.map(Self).map_err(|error| exception(&error))
    }

    /// Bytes of a public key, a secret key, a ciphertext and a shared key.
    #[getter]
    fn sizes(&self) -> (usize, usize, usize, usize) {
        let sizes = self.0.sizes();
        (sizes.public_key, sizes.secret_key, sizes.ciphertext, sizes.shared_key)
    }

    /// Fills both arrays with new key pairs.
    fn generate(
        &self,
        py: Python<'_>,
        mut public_keys: PyReadwriteArray1<'_, u8>,
        mut secret_keys: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (public, secret) = (public_keys.as_slice_mut()?, secret_keys.as_slice_mut()?);
        let found = py.detach(|| self.0.generate(public, secret)).map_err(|error| exception(&error))?;
        Ok(faults(&found))
    }

    /// Returns true for each public key with a canonical encoding, as key generation produces it.
    fn are_canonical(&self, py: Python<'_>, public_keys: PyReadonlyArray1<'_, u8>) -> PyResult<Vec<bool>> {
        let public = public_keys.as_slice()?;
        py.detach(|| self.0.are_canonical(public)).map_err(|error| exception(&error))
    }

    /// Generates a shared key and its ciphertext for each public key.
    fn encapsulate(
        &self,
        py: Python<'_>,
        public_keys: PyReadonlyArray1<'_, u8>,
        mut ciphertexts: PyReadwriteArray1<'_, u8>,
        mut shared_keys: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (sent, shared) = (ciphertexts.as_slice_mut()?, shared_keys.as_slice_mut()?);
        let public = public_keys.as_slice()?;
        let found = py.detach(|| self.0.encapsulate(public, sent, shared)).map_err(|error| exception(&error))?;
        Ok(faults(&found))
    }

    /// Computes the shared key of each ciphertext with its secret key.
    fn decapsulate(
        &self,
        py: Python<'_>,
        secret_keys: PyReadonlyArray1<'_, u8>,
        ciphertexts: PyReadonlyArray1<'_, u8>,
        mut shared_keys: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (secret, sent, shared) = (secret_keys.as_slice()?, ciphertexts.as_slice()?, shared_keys.as_slice_mut()?);
        let found = py.detach(|| self.0.decapsulate(secret, sent, shared)).map_err(|error| exception(&error))?;
        Ok(faults(&found))
    }
}
