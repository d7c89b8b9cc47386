//! A device for tests: an emulator, which runs kernels' CUDA source on the CPU, compiled by a C++ compiler.
//!
//! Each launch runs in two rounds. They differ in the order of threads, in how the items are divided into launches, and
//! in the initial contents of memory. Depending on the number of items, the second round runs slab by slab (some blocks
//! of an item at a time), if the kernel declares tiles of its blocks.
//!
//! Any difference between the rounds is an error. So is anything that the emulated CUDA runtime reports, such as a
//! barrier that not all threads reach, or a write outside of memory.

mod compiler;
mod launch;
pub(crate) mod process;

use core::ops::Range;
use core::time::Duration;
use std::sync::Arc;

use rayon::prelude::*;

use ringforge_math::error::{Error, Result};
use ringforge_runtime::backend::cpu;
use ringforge_runtime::backend::{Backend, BackendStream, Binding, Loaded};
use ringforge_runtime::cache::{Cache, SOURCE};
use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::{Kernel, Source};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::memory::{HostMemory, Memory, Read, Write};
use ringforge_runtime::tiles::Shape;

use compiler::Compiler;
use process::Runner;

/// How the emulator compiles and runs kernels.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether to use the address sanitizer and the undefined-behaviour sanitizer.
    pub sanitize: bool,
    /// Seeds of the orders in which threads run: 0 is ascending, 1 descending, any other number a random order. A
    /// launch runs in the first order and in one of the others, chosen by its number of items. Consecutive batch sizes
    /// thus cover all orders.
    pub schedules: Vec<u64>,
    /// Limits of the emulated device.
    pub limits: Limits,
    /// Time limit for one run of a kernel.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sanitize: false,
            schedules: vec![0, 1, 0x52_46, 0x9e37_79b9],
            limits: Limits::of_capability(90),
            timeout: Duration::from_secs(120),
        }
    }
}

/// Prefix of the names of emulated devices.
const NAME: &str = "emulator";

/// Whether these limits are those of an emulated device.
pub(super) fn is_emulator(limits: &Limits) -> bool {
    limits.name.starts_with(NAME)
}

/// Creates a device that runs kernels' CUDA source on the CPU.
///
/// # Errors
/// [`Error::Unsupported`] if there is no C++ compiler; [`Error::Length`] if `schedules` is empty; [`Error::File`] if
/// there is no cache folder for compiled programs.
pub fn device(options: Options) -> Result<Device> {
    if options.schedules.is_empty() {
        return Err(Error::Length { what: "schedules", expected: 1, got: 0 });
    }
    let cache = Cache::from_environment(SOURCE)?;
    let compiler = Compiler::find(options.sanitize, &cache).ok_or_else(|| Error::Unsupported {
        job: "the emulator".into(),
        why: "no C++ compiler was found (tried $CXX, g++, clang++ and c++)".into(),
    })?;
    let mut options = options;
    let how = if options.sanitize { ", sanitized" } else { "" };
    options.limits.name = format!("{NAME}{how}, of {}", options.limits.name);
    Ok(Device::new(Emulator { options, compiler: Arc::new(compiler) }))
}

#[derive(Debug)]
struct Emulator {
    options: Options,
    compiler: Arc<Compiler>,
}

impl Emulator {
    fn load_one(&self, kernel: &Arc<dyn Kernel>) -> Result<Loaded> {
        let source = Source::of(&**kernel, &self.options.limits)?;
        let (launch, ports, shares) = (source.launch(), source.parts().ports.clone(), source.shares());
        let numbers = source.parts().numbers.clone();
        let compiler = self.compiler.clone();
        let program = move || compiler.program(&source);
        program()?;
        let runner = Runner::new(kernel.name().into(), program, (launch, numbers), self.options.timeout);
        Ok(Loaded { kernel: kernel.clone(), ports, shares, code: Arc::new(runner) })
    }
}

impl Backend for Emulator {
    fn limits(&self) -> &Limits {
        &self.options.limits
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        HostMemory::zeroed(bytes).map(Memory::Host).ok_or(Error::OutOfMemory { bytes })
    }

    fn queue(&self) -> Result<BackendStream> {
        Ok(BackendStream::Immediate)
    }

    fn upload_shape(&self, _: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
        cpu::upload(from, shape, to)
    }

    fn download(&self, _: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()> {
        cpu::copy(from, Write::Host(to))
    }

    fn copy(&self, _: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()> {
        cpu::copy(from, to)
    }

    fn wipe(&self, _: &BackendStream, memory: Write<'_>) -> Result<()> {
        cpu::zero(memory)
    }

    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        ringforge_cpu::threads::start();
        kernels.par_iter().map(|kernel| self.load_one(kernel)).collect()
    }

    fn launch(&self, _: &BackendStream, kernel: &Loaded, items: Range<usize>, ports: Vec<Binding<'_>>) -> Result<()> {
        let runner = kernel.code.downcast_ref::<Runner>().ok_or_else(|| Error::ForeignDevice {
            what: format!("kernel {}", kernel.kernel.name()),
            expected: self.options.limits.name.clone(),
            got: "another backend".into(),
        })?;
        launch::run(runner, kernel, &self.options.schedules, items, ports)
    }

    fn synchronize(&self, _: &BackendStream) -> Result<()> {
        Ok(())
    }

    fn is_host(&self) -> bool {
        true
    }
}
