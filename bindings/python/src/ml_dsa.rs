//! ML-DSA signatures in batches. Keys and signatures are flat arrays of bytes.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use ringforge::Result;
use ringforge_bindings::{Fault, Messages};

use crate::engine::Engine;
use crate::error::{Faults, exception, faults};

/// ML-DSA signatures (FIPS 204), compiled for an engine's device.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct MlDsa(ringforge_bindings::MlDsa);

#[pymethods]
impl MlDsa {
    /// Compiles the parameter set of this name for the engine's device.
    #[new]
    fn new(py: Python<'_>, engine: &Engine, name: &str) -> PyResult<Self> {
        let dsa = py.detach(|| ringforge_bindings::MlDsa::new(&engine.engine, name));
        dsa.map(Self).map_err(|error| exception(&error))
    }

    /// Bytes of a public key, a secret key and a signature.
    #[getter]
    fn sizes(&self) -> (usize, usize, usize) {
        let sizes = self.0.sizes();
        (sizes.public_key, sizes.secret_key, sizes.signature)
    }

    /// Fills both arrays with new key pairs.
    fn generate(
        &self,
        py: Python<'_>,
        mut public_keys: PyReadwriteArray1<'_, u8>,
        mut secret_keys: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (public, secret) = (public_keys.as_slice_mut()?, secret_keys.as_slice_mut()?);
        found(py.detach(|| self.0.generate(public, secret)))
    }

    /// Signs each message with its secret key, or all messages with a single key.
    fn sign(
        &self,
        py: Python<'_>,
        secret_keys: PyReadonlyArray1<'_, u8>,
        messages: Vec<Vec<u8>>,
        context: Vec<u8>,
        mut signatures: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (secret, signed) = (secret_keys.as_slice()?, signatures.as_slice_mut()?);
        found(py.detach(|| in_context(&messages, &context, |messages| self.0.sign(secret, messages, signed))))
    }

    /// Verifies signatures of messages.
    fn verify(
        &self,
        py: Python<'_>,
        public_keys: PyReadonlyArray1<'_, u8>,
        messages: Vec<Vec<u8>>,
        context: Vec<u8>,
        signatures: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (public, signed) = (public_keys.as_slice()?, signatures.as_slice()?);
        found(py.detach(|| in_context(&messages, &context, |messages| self.0.verify(public, messages, signed))))
    }
}

fn in_context<T>(messages: &[Vec<u8>], context: &[u8], run: impl FnOnce(&Messages<'_>) -> Result<T>) -> Result<T> {
    run(&Messages::new(&messages.iter().collect::<Vec<_>>()).with_context(context)?)
}

fn found(outcome: Result<Vec<Fault>>) -> PyResult<Faults> {
    outcome.map(|found| faults(&found)).map_err(|error| exception(&error))
}
