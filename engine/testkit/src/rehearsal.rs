//! A CPU that plans as a GPU does and keeps the kernels that are loaded, to see which kernels a caller needs on a GPU.

use core::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ringforge_math::error::Result;
use ringforge_runtime::backend::cpu::Cpu;
use ringforge_runtime::backend::{Backend, BackendStream, Binding, Loaded};
use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::Kernel;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::memory::{Memory, Read, Write};
use ringforge_runtime::tiles::Shape;

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

/// A device with these limits of a GPU, on which kernels are planned for that GPU, and run as their CPU references.
#[must_use]
pub fn device(limits: Limits) -> (Device, Rehearsed) {
    let rehearsed = Rehearsed::default();
    (Device::new(Rehearsing { cpu: Cpu::default(), limits, rehearsed: rehearsed.clone() }), rehearsed)
}

#[derive(Debug)]
struct Rehearsing {
    cpu: Cpu,
    limits: Limits,
    rehearsed: Rehearsed,
}

impl Backend for Rehearsing {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.cpu.allocate(bytes)
    }

    fn queue(&self) -> Result<BackendStream> {
        self.cpu.queue()
    }

    fn upload_shape(&self, queue: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
        self.cpu.upload_shape(queue, from, shape, to)
    }

    fn download(&self, queue: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()> {
        self.cpu.download(queue, from, to)
    }

    fn copy(&self, queue: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()> {
        self.cpu.copy(queue, from, to)
    }

    fn wipe(&self, queue: &BackendStream, memory: Write<'_>) -> Result<()> {
        self.cpu.wipe(queue, memory)
    }

    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        self.rehearsed.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(kernels);
        self.cpu.load(kernels)
    }

    fn launch(
        &self,
        queue: &BackendStream,
        kernel: &Loaded,
        items: Range<usize>,
        ports: Vec<Binding<'_>>,
    ) -> Result<()> {
        self.cpu.launch(queue, kernel, items, ports)
    }

    fn synchronize(&self, queue: &BackendStream) -> Result<()> {
        self.cpu.synchronize(queue)
    }

    fn is_host(&self) -> bool {
        self.cpu.is_host()
    }
}
