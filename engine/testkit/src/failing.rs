//! A CPU whose calls fail, to see what a caller does when a device does.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use ringforge_math::error::{Error, Result};
use ringforge_runtime::backend::cpu::Cpu;
use ringforge_runtime::backend::{Backend, BackendStream, Binding, Loaded};
use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::Kernel;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::memory::{Memory, Read, Write};
use ringforge_runtime::tiles::Shape;

/// Says which call of a [failing device](device) fails.
#[derive(Debug, Clone, Default)]
pub struct Fault(Arc<AtomicUsize>);

impl Fault {
    /// Lets the call with this number fail, counted from 1, and none after it. 0 lets no call fail.
    pub fn at(&self, call: usize) {
        self.0.store(call, Ordering::SeqCst);
    }

    /// Whether the call that was to fail was reached.
    #[must_use]
    pub fn happened(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }

    fn count(&self, call: &'static str) -> Result<()> {
        let less = |left: usize| left.checked_sub(1);
        match self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(1) => Err(Error::Driver { call, code: 719, message: "injected".into() }),
            _ => Ok(()),
        }
    }
}

/// A CPU whose allocations, copies, wipes and launches are counted, and one of which fails.
#[must_use]
pub fn device() -> (Device, Fault) {
    let fault = Fault::default();
    (Device::new(Failing { cpu: Cpu::default(), fault: fault.clone() }), fault)
}

#[derive(Debug)]
struct Failing {
    cpu: Cpu,
    fault: Fault,
}

impl Backend for Failing {
    fn limits(&self) -> &Limits {
        self.cpu.limits()
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.fault.count("allocate")?;
        self.cpu.allocate(bytes)
    }

    fn queue(&self) -> Result<BackendStream> {
        self.fault.count("queue")?;
        self.cpu.queue()
    }

    fn upload_shape(&self, queue: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
        self.fault.count("upload")?;
        self.cpu.upload_shape(queue, from, shape, to)
    }

    fn download(&self, queue: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()> {
        self.fault.count("download")?;
        self.cpu.download(queue, from, to)
    }

    fn copy(&self, queue: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()> {
        self.fault.count("copy")?;
        self.cpu.copy(queue, from, to)
    }

    fn wipe(&self, queue: &BackendStream, memory: Write<'_>) -> Result<()> {
        self.fault.count("wipe")?;
        self.cpu.wipe(queue, memory)
    }

    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        self.fault.count("load")?;
        self.cpu.load(kernels)
    }

    fn launch(
        &self,
        queue: &BackendStream,
        kernel: &Loaded,
        items: Range<usize>,
        ports: Vec<Binding<'_>>,
    ) -> Result<()> {
        self.fault.count("launch")?;
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
