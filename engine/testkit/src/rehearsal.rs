//! A CPU that plans as a GPU does and keeps the kernels that are loaded, to see which kernels a caller needs on a GPU.

use std::sync::{Arc, Mutex, PoisonError};

use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::Kernel;
use ringforge_runtime::limits::Limits;

use super::watched::{self, Watch};

/// The kernels that a [rehearsing device](device) has loaded.
#[derive(Debug, Clone, Default)]
pub struct Rehearsed(Arc<Mutex<Vec<Arc<dyn Kernel>>>>);

impl Rehearsed {
    /// The kernels in the order in which they were loaded, with those that were loaded several times.
    #[must_use]
    pub fn kernels(&self) -> Vec<Arc<dyn Kernel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watch for Rehearsed {
    fn load(&self, kernels: &[Arc<dyn Kernel>]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(kernels);
    }
}

/// A device with these limits of a GPU, on which kernels are planned for that GPU, and run as their CPU references.
#[must_use]
pub fn device(limits: Limits) -> (Device, Rehearsed) {
    let rehearsed = Rehearsed::default();
    (watched::device(Some(limits), rehearsed.clone()), rehearsed)
}
