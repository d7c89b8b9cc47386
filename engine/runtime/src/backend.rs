//! The interface to a backend: memory, streams, copies and kernel launches. A new operation is a kernel and needs no
//! change here.

pub mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use core::any::Any;
use core::fmt::Debug;
use core::ops::Range;
use std::sync::Arc;

use crate::columns::{Shape, Shares};
use crate::kernel::{Kernel, Port};
use crate::limits::Limits;
use crate::memory::{HostMemory, Memory, Read, Write};
use crate::pinned::{Pinned, PinnedBuffer};
use ringforge_math::error::{Error, Result};

/// A place where kernels run: the CPU or one GPU. A [`BackendStream`] is one of its streams.
pub trait Backend: Debug + Send + Sync {
    /// The limits that kernels are planned for.
    fn limits(&self) -> &Limits;

    /// Allocates this many bytes. The memory holds no secrets of an earlier owner, but is not zero on every backend.
    fn allocate(&self, bytes: usize) -> Result<Memory>;

    /// Allocates memory for one run. It is freed soon, so it may be part of a much larger block.
    fn allocate_for_run(&self, bytes: usize) -> Result<Memory> {
        self.allocate(bytes)
    }

    /// A new stream.
    fn queue(&self) -> Result<BackendStream>;

    /// A new stream of higher priority: its work starts before that of other streams that could start as well.
    fn urgent_queue(&self) -> Result<BackendStream> {
        self.queue()
    }

    /// Copies the bytes of `shape` out of `from` and packs them into `to`, which has the same size. The copy follows
    /// earlier work on the stream. `from` may be reused on return.
    fn upload_shape(&self, queue: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()>;

    /// Copies all bytes of `from`, otherwise like [`Backend::upload_shape`].
    fn upload(&self, queue: &BackendStream, from: &[u8], to: Write<'_>) -> Result<()> {
        self.upload_shape(queue, from, &Shape::run(0, from.len()), to)
    }

    /// Copies from device memory into `to`, which has the same size, after earlier work on the stream. The bytes are
    /// there on return.
    fn download(&self, queue: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()>;

    /// Copies between two memories of this backend that have the same size, after earlier work on the stream.
    fn copy(&self, queue: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()>;

    /// Overwrites memory with zeros, after earlier work on the stream.
    fn wipe(&self, queue: &BackendStream, memory: Write<'_>) -> Result<()>;

    /// Loads kernels, and compiles them first if necessary; in parallel where that helps.
    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>>;

    /// Runs a kernel on a range of items, after earlier work on the stream.
    fn launch(
        &self,
        queue: &BackendStream,
        kernel: &Loaded,
        items: Range<usize>,
        ports: Vec<Binding<'_>>,
    ) -> Result<()>;

    /// Captures the launches of `work` for replay (a CUDA graph) and replaces an earlier recording. Returns `None` on
    /// backends without capture, where `work` is not called.
    fn record(
        &self,
        _work: &mut dyn FnMut(&BackendStream) -> Result<()>,
        _old: Option<Recording>,
    ) -> Result<Option<Recording>> {
        Ok(None)
    }

    /// The GPU of this backend, if it has one.
    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&Arc<crate::cuda::Gpu>> {
        None
    }

    /// Waits for all work on the stream.
    fn synchronize(&self, queue: &BackendStream) -> Result<()>;

    /// Whether kernels work on host memory, so that the caller's arrays need no copies.
    fn is_host(&self) -> bool;

    /// Zeroed host memory with the fastest copies to and from this backend (page-locked on a GPU).
    fn pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        let memory = HostMemory::zeroed(bytes).ok_or(Error::OutOfMemory { bytes })?;
        Ok(PinnedBuffer::new(Pinned::Host(memory), bytes))
    }

    /// Bytes of device memory in use or cached for reuse. `None` where the backend works on host memory.
    fn held_bytes(&self) -> Option<usize> {
        None
    }

    /// The contents of all cached memory blocks. Tests check with it that returned secrets were wiped.
    #[cfg(feature = "testkit")]
    fn kept(&self) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// Frees cached memory, and code that no program uses.
    fn trim(&self) {}
}

/// A stream of a backend: its work runs in order.
#[derive(Debug, Clone)]
pub enum BackendStream {
    /// Work is done when the call returns.
    Immediate,
    /// A CUDA stream.
    #[cfg(feature = "cuda")]
    Cuda(Arc<crate::cuda::GpuStream>),
}

/// Captured work, to be replayed.
#[derive(Debug)]
pub enum Recording {
    /// A CUDA graph.
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::CudaRecording),
}

impl Recording {
    /// Runs the recorded work after earlier work on the stream, on the memory that it was recorded with.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    pub(crate) fn replay(&mut self, queue: &BackendStream, memories: &[Read<'_>]) -> Result<()> {
        match *self {
            #[cfg(feature = "cuda")]
            Self::Cuda(ref mut recording) => cuda::replay(recording, queue, memories),
        }
    }
}

/// A kernel that a backend has loaded.
#[derive(Debug, Clone)]
pub struct Loaded {
    #[doc(hidden)]
    pub kernel: Arc<dyn Kernel>,
    /// The kernel's ports when it was loaded. Its source was generated for them.
    #[doc(hidden)]
    pub ports: Vec<Port>,
    /// How the blocks of an item divide each port into tiles.
    #[cfg_attr(not(any(feature = "cuda", feature = "testkit")), allow(dead_code))]
    #[doc(hidden)]
    pub shares: Shares,
    /// The backend's own representation of the loaded kernel.
    #[cfg_attr(not(any(feature = "cuda", feature = "testkit")), allow(dead_code))]
    #[doc(hidden)]
    pub code: Arc<dyn Any + Send + Sync>,
}

/// The memory that a port is bound to for one launch. Its first item has the index `skipped` and begins at byte
/// `first`.
#[derive(Debug)]
pub struct Binding<'a> {
    #[doc(hidden)]
    pub to: To<'a>,
    #[doc(hidden)]
    pub first: usize,
    #[doc(hidden)]
    pub skipped: usize,
}

impl<'a> Binding<'a> {
    /// Binds a port to memory that holds all items.
    pub(crate) const fn all(to: To<'a>) -> Self {
        Self { to, first: 0, skipped: 0 }
    }
}

/// The memory that a port uses, and how.
#[derive(Debug)]
pub enum To<'a> {
    /// Read only; several ports may read the same memory.
    Read(Read<'a>),
    /// Written.
    Write(Write<'a>),
    /// The memory that the port with this index writes: the same bytes where the kernel runs in place, else other bytes
    /// of it.
    SameAs(usize),
    /// A list of tables: the memory that holds their addresses on a GPU, and the tables themselves.
    List(#[cfg_attr(not(feature = "cuda"), allow(dead_code))] Read<'a>, Vec<Read<'a>>),
}
