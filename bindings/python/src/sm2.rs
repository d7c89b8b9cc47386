//! SM2 signatures in batches. Arguments are flat arrays of bytes.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use ringforge_bindings::DEFAULT_ID;

use crate::engine::Engine;
use crate::error::{Faults, exception, faults};

/// SM2 signatures (GB/T 32918), compiled for an engine's device.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Sm2(ringforge_bindings::Sm2);

#[pymethods]
impl Sm2 {
    /// Compiles signing and verification. With `lookups`, signing reads tables at secret-dependent addresses.
    #[new]
    fn new(py: Python<'_>, engine: &Engine, lookups: bool) -> PyResult<Self> {
        let sm2 = py.detach(|| ringforge_bindings::Sm2::new(&engine.engine, lookups));
        sm2.map(Self).map_err(|error| exception(&error))
    }

    /// Fills both arrays with new key pairs.
    fn generate(
        &self,
        py: Python<'_>,
        mut private_keys: PyReadwriteArray1<'_, u8>,
        mut public_keys: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (private, public) = (private_keys.as_slice_mut()?, public_keys.as_slice_mut()?);
        let found = py.detach(|| self.0.generate(private, public)).map_err(|error| exception(&error))?;
        Ok(faults(&found))
    }

    /// Signs each digest with its private key, or all digests with a single key.
    fn sign(
        &self,
        py: Python<'_>,
        private_keys: PyReadonlyArray1<'_, u8>,
        digests: PyReadonlyArray1<'_, u8>,
        mut signatures: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (private, digests, signed) = (private_keys.as_slice()?, digests.as_slice()?, signatures.as_slice_mut()?);
        let found = py.detach(|| self.0.sign(private, digests, signed)).map_err(|error| exception(&error))?;
        Ok(faults(&found))
    }

    /// Verifies signatures of digests.
    fn verify(
        &self,
        py: Python<'_>,
        public_keys: PyReadonlyArray1<'_, u8>,
        digests: PyReadonlyArray1<'_, u8>,
        signatures: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<Faults> {
        let (public, digests, signed) = (public_keys.as_slice()?, digests.as_slice()?, signatures.as_slice()?);
        let found = py.detach(|| self.0.verify(public, digests, signed)).map_err(|error| exception(&error))?;
        Ok(faults(&found))
    }
}

/// Computes the digest to sign of each message, for the signers with these public keys. Without `id`, signers have the
/// standard's default identifier.
#[pyfunction]
#[pyo3(signature = (public_keys, messages, digests, id = None))]
pub(crate) fn sm2_digest(
    py: Python<'_>,
    public_keys: PyReadonlyArray1<'_, u8>,
    messages: Vec<Vec<u8>>,
    mut digests: PyReadwriteArray1<'_, u8>,
    id: Option<Vec<u8>>,
) -> PyResult<Faults> {
    let (public, digests) = (public_keys.as_slice()?, digests.as_slice_mut()?);
    let id = id.as_deref().unwrap_or(DEFAULT_ID);
    let found = py.detach(|| {
        let lengths: Vec<usize> = messages.iter().map(Vec::len).collect();
        ringforge_bindings::Sm2::digest(public, id, &messages.concat(), &lengths, digests)
    });
    found.map(|found| faults(&found)).map_err(|error| exception(&error))
}
