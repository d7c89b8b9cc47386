//! A CPU whose calls are watched.

use core::fmt::Debug;
use core::ops::Range;
use std::sync::Arc;

use ringforge_math::error::Result;
use ringforge_runtime::backend::cpu::Cpu;
use ringforge_runtime::backend::{Backend, BackendStream, Binding, Loaded};
use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::Kernel;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::memory::{Memory, Read, Write};
use ringforge_runtime::tiles::Shape;

/// An observer that is told of a CPU's calls before they are carried out.
pub(crate) trait Watch: Debug + Send + Sync + 'static {
    /// Any call but a wait for the end of work. An error takes the place of the call.
    fn call(&self, _call: &'static str) -> Result<()> {
        Ok(())
    }

    /// The kernels of a call that loads some.
    fn load(&self, _kernels: &[Arc<dyn Kernel>]) {}
}

/// A CPU with this watch. Kernels are planned for these limits; `None` stands for the CPU's own.
pub(crate) fn device(limits: Option<Limits>, watch: impl Watch) -> Device {
    let cpu = Cpu::default();
    let limits = limits.unwrap_or_else(|| cpu.limits().clone());
    Device::new(Watched { cpu, limits, watch })
}

#[derive(Debug)]
struct Watched<W> {
    cpu: Cpu,
    limits: Limits,
    watch: W,
}

impl<W: Watch> Backend for Watched<W> {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.watch.call("allocate")?;
        self.cpu.allocate(bytes)
    }

    fn queue(&self) -> Result<BackendStream> {
        self.watch.call("queue")?;
        self.cpu.queue()
    }

    fn upload_shape(&self, queue: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
        self.watch.call("upload")?;
        self.cpu.upload_shape(queue, from, shape, to)
    }

    fn download(&self, queue: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()> {
        self.watch.call("download")?;
        self.cpu.download(queue, from, to)
    }

    fn copy(&self, queue: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()> {
        self.watch.call("copy")?;
        self.cpu.copy(queue, from, to)
    }

    fn wipe(&self, queue: &BackendStream, memory: Write<'_>) -> Result<()> {
        self.watch.call("wipe")?;
        self.cpu.wipe(queue, memory)
    }

    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        self.watch.call("load")?;
        self.watch.load(kernels);
        self.cpu.load(kernels)
    }

    fn launch(
        &self,
        queue: &BackendStream,
        kernel: &Loaded,
        items: Range<usize>,
        ports: Vec<Binding<'_>>,
    ) -> Result<()> {
        self.watch.call("launch")?;
        self.cpu.launch(queue, kernel, items, ports)
    }

    fn synchronize(&self, queue: &BackendStream) -> Result<()> {
        self.cpu.synchronize(queue)
    }

    fn is_host(&self) -> bool {
        self.cpu.is_host()
    }

    fn peak_bytes(&self) -> usize {
        self.cpu.peak_bytes()
    }
}
