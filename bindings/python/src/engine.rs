//! Engines: devices with their caches of compiled programs.

use pyo3::prelude::*;

use crate::error::exception;

/// A device with its cache of compiled programs.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) engine: ringforge::Engine,
    /// The GPU's ordinal; `None` for the CPU.
    #[pyo3(get)]
    ordinal: Option<usize>,
}

#[pymethods]
impl Engine {
    /// Makes an engine on the first GPU if it is usable, else on the CPU.
    #[staticmethod]
    fn best() -> Self {
        let engine = ringforge::Engine::best();
        let ordinal = engine.no_gpu().is_none().then_some(0);
        Self { engine, ordinal }
    }

    /// Makes an engine on the CPU.
    #[staticmethod]
    fn cpu() -> Self {
        Self { engine: ringforge::Engine::cpu(), ordinal: None }
    }

    /// Makes an engine on the GPU with this ordinal.
    #[staticmethod]
    fn cuda(ordinal: usize) -> PyResult<Self> {
        let engine = ringforge::Engine::cuda(ordinal).map_err(|error| exception(&error))?;
        Ok(Self { engine, ordinal: Some(ordinal) })
    }

    /// The device's name.
    #[getter]
    fn device(&self) -> String {
        self.engine.device().to_string()
    }

    /// Drops all cached programs and releases the memory that the device caches.
    fn trim(&self, py: Python<'_>) {
        py.detach(|| self.engine.trim());
    }
}
