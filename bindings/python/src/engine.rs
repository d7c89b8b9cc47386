//! Engines.

use pyo3::prelude::*;

use crate::error::exception;

/// A device with the programs made for it so far.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) engine: ringforge::Engine,
    /// The GPU's ordinal; none for the CPU.
    #[pyo3(get)]
    ordinal: Option<usize>,
}

#[pymethods]
impl Engine {
    /// On the first GPU if it is usable, else on the CPU.
    #[staticmethod]
    fn best() -> Self {
        let engine = ringforge::Engine::best();
        let ordinal = engine.no_gpu().is_none().then_some(0);
        Self { engine, ordinal }
    }

    /// On the CPU.
    #[staticmethod]
    fn cpu() -> Self {
        Self { engine: ringforge::Engine::cpu(), ordinal: None }
    }

    /// On the GPU with this ordinal.
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

    /// Gives back what is kept for later.
    fn trim(&self, py: Python<'_>) {
        py.detach(|| self.engine.trim());
    }
}
