//! The backend for NVIDIA GPUs.

use core::ops::Range;
use std::sync::Arc;

use crate::backend::{Backend, BackendStream, Binding, Loaded, Recording, To};
use crate::cuda::code::{self, CudaCode};
use crate::cuda::launch::{self, PortBinding, PortMemory};
use crate::cuda::pool::Stay;
use crate::cuda::queue::{self, Priority};
use crate::cuda::{CudaMemory, CudaRecording, Gpu, GpuSlice, GpuStream, PinnedBytes, copy};
use crate::kernel::Kernel;
use crate::limits::Limits;
use crate::memory::{Memory, Read, Write};
use crate::pinned::{Pinned, PinnedBuffer};
use crate::tiles::Shape;
use ringforge_math::error::{Error, Result};

/// The backend of one GPU.
#[derive(Debug)]
pub(crate) struct Cuda(Arc<Gpu>);

impl Cuda {
    /// Opens the GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no driver, the driver is too old or lacks a function, there is no such GPU, or
    /// opening it fails.
    pub(crate) fn open(ordinal: usize) -> Result<Self> {
        Gpu::open(ordinal).map(Self)
    }

    fn queue_of<'a>(&self, queue: &'a BackendStream) -> Result<&'a GpuStream> {
        match queue {
            BackendStream::Cuda(queue) if Arc::ptr_eq(queue.gpu(), &self.0) => Ok(queue),
            BackendStream::Cuda(_) => Err(self.foreign("the stream", "another GPU")),
            BackendStream::Immediate => Err(self.foreign("the stream", "CPU")),
        }
    }

    fn mine<'a>(&self, part: GpuSlice<'a>) -> Result<GpuSlice<'a>> {
        if part.memory.is_on(&self.0) { Ok(part) } else { Err(self.foreign("memory", "another GPU")) }
    }

    fn read<'a>(&self, memory: Read<'a>) -> Result<GpuSlice<'a>> {
        match memory {
            Read::Cuda(memory) => self.mine(memory),
            Read::Host(_) => Err(self.foreign("memory", "CPU")),
        }
    }

    fn write<'a>(&self, memory: Write<'a>) -> Result<GpuSlice<'a>> {
        match memory {
            Write::Cuda(memory) => self.mine(memory),
            Write::Host(_) => Err(self.foreign("memory", "CPU")),
        }
    }

    fn foreign(&self, what: &str, got: &str) -> Error {
        Error::ForeignDevice { what: what.into(), expected: self.0.limits.name.clone(), got: got.into() }
    }
}

/// Replays a captured graph on a stream. `memories` must include all memory that the graph uses. Returns an error if
/// the stream is not of a GPU.
pub(crate) fn replay(recording: &mut CudaRecording, queue: &BackendStream, memories: &[Read<'_>]) -> Result<()> {
    let BackendStream::Cuda(queue) = queue else {
        return Err(Error::Kernel {
            kernel: "recording".into(),
            why: "must be replayed on the device that recorded it".into(),
        });
    };
    let memories = memories.iter().filter_map(|memory| match memory {
        Read::Cuda(part) => Some(part.memory),
        Read::Host(_) => None,
    });
    recording.replay(queue, &memories.collect::<Vec<_>>())
}

impl Backend for Cuda {
    fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        CudaMemory::new(&self.0, bytes, Stay::Open).map(Memory::Cuda)
    }

    fn allocate_for_run(&self, bytes: usize) -> Result<Memory> {
        CudaMemory::new(&self.0, bytes, Stay::Run).map(Memory::Cuda)
    }

    fn queue(&self) -> Result<BackendStream> {
        Ok(BackendStream::Cuda(Arc::new(GpuStream::new(&self.0, Priority::Normal)?)))
    }

    fn urgent_queue(&self) -> Result<BackendStream> {
        Ok(BackendStream::Cuda(Arc::new(GpuStream::new(&self.0, Priority::Urgent)?)))
    }

    fn upload_shape(&self, queue: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
        copy::upload(self.queue_of(queue)?, from, shape, self.write(to)?)
    }

    fn download(&self, queue: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()> {
        copy::download(self.queue_of(queue)?, self.read(from)?, to)
    }

    fn copy(&self, queue: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()> {
        let Read::Cuda(from) = from else { return Err(self.foreign("memory", "CPU")) };
        copy::between(self.queue_of(queue)?, from, self.write(to)?)
    }

    fn wipe(&self, queue: &BackendStream, memory: Write<'_>) -> Result<()> {
        self.0.bind()?;
        self.write(memory)?.wipe(self.queue_of(queue)?)
    }

    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        let loaded = kernels.iter().zip(code::load(&self.0, kernels)?).map(|(kernel, (ports, shares, code))| {
            let kernel = kernel.clone();
            Loaded { kernel, ports, shares, code: Arc::new(code) }
        });
        Ok(loaded.collect())
    }

    fn gpu(&self) -> Option<&Arc<Gpu>> {
        Some(&self.0)
    }

    fn launch(
        &self,
        queue: &BackendStream,
        kernel: &Loaded,
        items: Range<usize>,
        ports: Vec<Binding<'_>>,
    ) -> Result<()> {
        let queue = self.queue_of(queue)?;
        let targets = ports.into_iter().map(target).collect::<Result<Vec<_>>>()?;
        targets.iter().filter_map(PortBinding::part).try_for_each(|part| self.mine(part).map(drop))?;
        launch::launch(queue, code(kernel)?, &kernel.ports, items, &targets)
    }

    fn record(
        &self,
        work: &mut dyn FnMut(&BackendStream) -> Result<()>,
        old: Option<Recording>,
    ) -> Result<Option<Recording>> {
        queue::while_recording(|| {
            let recorder = Arc::new(GpuStream::recorder(&self.0)?);
            let outcome = work(&BackendStream::Cuda(recorder.clone()));
            let recording = recorder.recorded(old.map(|Recording::Cuda(old)| old));
            outcome?;
            recording.map(|recording| Some(Recording::Cuda(recording)))
        })
    }

    fn synchronize(&self, queue: &BackendStream) -> Result<()> {
        self.queue_of(queue)?.synchronize()
    }

    fn is_host(&self) -> bool {
        false
    }

    fn pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        PinnedBytes::new(&self.0, bytes.max(1)).map(|memory| PinnedBuffer::new(Pinned::Cuda(memory), bytes))
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(self.0.pool.held_bytes())
    }

    #[cfg(feature = "testkit")]
    fn peak_bytes(&self) -> usize {
        self.0.pool.in_use.peak()
    }

    #[cfg(feature = "testkit")]
    fn kept(&self) -> Result<Vec<Vec<u8>>> {
        let mut kept = self.0.pool.kept(&self.0)?;
        kept.extend(self.0.staging.kept()?);
        Ok(kept)
    }

    fn trim(&self) {
        self.0.codes.trim();
        self.0.pool.release(&self.0.context);
        self.0.staging.release();
    }
}

/// Returns the loaded code of a kernel, or an error if another backend loaded the kernel.
pub(crate) fn code(kernel: &Loaded) -> Result<&CudaCode> {
    kernel.code.downcast_ref().ok_or_else(|| Error::Kernel {
        kernel: kernel.kernel.name().into(),
        why: "was loaded for another device: compile it for this one".into(),
    })
}

/// Converts a port's binding for a launch on a GPU. Returns an error for host memory.
pub(crate) fn target(bound: Binding<'_>) -> Result<PortBinding<'_>> {
    let to = match bound.to {
        // a launch counts as a user of the list of addresses only; when the list is dropped (`MadeTable`), its users
        // are recorded as users of the listed tables
        To::Read(Read::Cuda(memory)) | To::List(Read::Cuda(memory), _) => PortMemory::Read(memory),
        To::Write(Write::Cuda(memory)) => PortMemory::Write(memory),
        To::SameAs(port) => PortMemory::SameAs(port),
        To::Read(Read::Host(_)) | To::Write(Write::Host(_)) | To::List(Read::Host(_), _) => {
            return Err(Error::ForeignDevice { what: "memory".into(), expected: "a GPU".into(), got: "CPU".into() });
        }
    };
    Ok(PortBinding { to, first: bound.first, skipped: bound.skipped })
}
