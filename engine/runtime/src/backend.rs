//! The interface to a backend: memory, streams, copies and kernel launches. A new operation is a new kernel and needs
//! no change of a backend.

pub mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use core::any::Any;
use core::fmt::Debug;
use core::ops::Range;
use std::sync::Arc;

use crate::kernel::{Kernel, Port};
use crate::limits::Limits;
use crate::memory::{HostMemory, Memory, Read, Write};
use crate::pinned::{Pinned, PinnedBuffer};
use crate::tiles::{Shape, Tiles};
use ringforge_math::error::{Error, Result};

/// A backend, on which kernels run: the CPU or one GPU. Methods with a [`BackendStream`] expect one of the backend's
/// own streams.
pub trait Backend: Debug + Send + Sync {
    /// The device's limits (threads and shared memory per block, for example), for which kernels are planned.
    fn limits(&self) -> &Limits;

    /// Allocates this many bytes. The memory may hold old data, but no secrets of an earlier owner.
    fn allocate(&self, bytes: usize) -> Result<Memory>;

    /// Allocates memory for a single run. Because the memory is freed soon, it may occupy a pooled block that is much
    /// larger than needed.
    fn allocate_for_run(&self, bytes: usize) -> Result<Memory> {
        self.allocate(bytes)
    }

    /// Creates a stream of this backend.
    fn queue(&self) -> Result<BackendStream>;

    /// A new stream of high priority: if work of several streams is ready to start, the device starts the work of this
    /// stream first. On a backend without priorities, this is an ordinary stream.
    fn urgent_queue(&self) -> Result<BackendStream> {
        self.queue()
    }

    /// Packs the bytes that `shape` selects from the host memory `from` into `to`, whose size is exactly that of the
    /// selection. The copy runs after earlier work on the stream. The caller may reuse `from` when the call returns.
    fn upload_shape(&self, queue: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()>;

    /// Copies all bytes of `from` to `to`, after earlier work on the stream. Like [`Backend::upload_shape`] with a
    /// shape that selects everything.
    fn upload(&self, queue: &BackendStream, from: &[u8], to: Write<'_>) -> Result<()> {
        self.upload_shape(queue, from, &Shape::run(0, from.len()), to)
    }

    /// Copies device memory to `to`, which has the same size, after earlier work on the stream. Returns when all bytes
    /// have arrived.
    fn download(&self, queue: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()>;

    /// Copies `from` to `to`, a memory of this backend with the same size, after earlier work on the stream. The source may
    /// be of another device of the same kind, and the copy then runs after earlier work on it, too.
    fn copy(&self, queue: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()>;

    /// Overwrites memory with zeros, after earlier work on the stream.
    fn wipe(&self, queue: &BackendStream, memory: Write<'_>) -> Result<()>;

    /// Loads kernels, and compiles those that are not compiled yet, several in parallel if the backend supports that.
    /// Returns one entry per kernel, in the same order.
    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>>;

    /// Starts a kernel on a range of the batch's items, after earlier work on the stream. `ports` binds memory to each
    /// port (pointer parameter) of the kernel, in order.
    fn launch(
        &self,
        queue: &BackendStream,
        kernel: &Loaded,
        items: Range<usize>,
        ports: Vec<Binding<'_>>,
    ) -> Result<()>;

    /// Calls `work` with a stream that captures launches, and returns the captured work (a CUDA graph) for replay.
    /// `old` is an earlier graph, which is updated in place if possible and otherwise dropped. A backend without graph
    /// capture returns `None` and does not call `work`.
    fn record(
        &self,
        _work: &mut dyn FnMut(&BackendStream) -> Result<()>,
        _old: Option<Recording>,
    ) -> Result<Option<Recording>> {
        Ok(None)
    }

    /// The CUDA GPU of this backend. `None` if the backend is not for CUDA.
    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&Arc<crate::cuda::Gpu>> {
        None
    }

    /// Waits on the calling thread until all work on the stream is done.
    fn synchronize(&self, queue: &BackendStream) -> Result<()>;

    /// Returns true if kernels access host memory directly, so that the caller's arrays need not be copied.
    fn is_host(&self) -> bool;

    /// Allocates zeroed host memory from and to which this backend copies fastest: page-locked memory for a GPU.
    fn pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        let memory = HostMemory::zeroed(bytes).ok_or(Error::OutOfMemory { bytes })?;
        Ok(PinnedBuffer::new(Pinned::Host(memory), bytes))
    }

    /// Bytes of device memory in use or cached for reuse. `None` if the backend works on host memory.
    fn held_bytes(&self) -> Option<usize> {
        None
    }

    /// The most bytes that were in use since the last call. 0 for a backend that does not count them.
    #[cfg(feature = "testkit")]
    fn peak_bytes(&self) -> usize {
        0
    }

    /// The contents of all cached free memory blocks, one vector per block. Tests search them for secrets that should
    /// have been wiped. Empty for a backend on host memory.
    #[cfg(feature = "testkit")]
    fn kept(&self) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// Frees cached memory, and unloads code that no program uses.
    fn trim(&self) {}
}

/// A stream of a backend. Its work runs in order.
#[derive(Debug, Clone)]
pub enum BackendStream {
    /// A stream without asynchronous work: every call returns after its work is done.
    Immediate,
    /// A CUDA stream.
    #[cfg(feature = "cuda")]
    Cuda(Arc<crate::cuda::GpuStream>),
}

/// Captured work that can be replayed.
#[derive(Debug)]
pub enum Recording {
    /// A CUDA graph.
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::CudaRecording),
}

impl Recording {
    /// Starts the captured work on the stream, after the stream's earlier work. The captured launches contain the
    /// addresses of their memory, so `memories` must include all of that memory.
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
    /// The kernel's ports (pointer parameters) at the time of loading. The kernel's source was generated for these
    /// ports.
    #[doc(hidden)]
    pub ports: Vec<Port>,
    /// How the thread blocks of an item divide the item's bytes at each port into tiles, one tile per block.
    #[cfg_attr(not(any(feature = "cuda", feature = "testkit")), allow(dead_code))]
    #[doc(hidden)]
    pub shares: Tiles,
    /// The kernel's code in the backend's own representation.
    #[cfg_attr(not(any(feature = "cuda", feature = "testkit")), allow(dead_code))]
    #[doc(hidden)]
    pub code: Arc<dyn Any + Send + Sync>,
}

/// The memory that a kernel's port (pointer parameter) is bound to for one launch. The memory begins with item
/// `skipped` of the batch, and the data of that item begins at byte `first`.
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
    /// The binding of a port to memory that holds all items of the batch.
    pub(crate) const fn all(to: To<'a>) -> Self {
        Self { to, first: 0, skipped: 0 }
    }
}

/// The memory of a port, and how the kernel accesses it.
#[derive(Debug)]
pub enum To<'a> {
    /// Read only. Several ports may read the same memory.
    Read(Read<'a>),
    /// Written, or read and written.
    Write(Write<'a>),
    /// The memory that the port with this index writes. If the kernel runs in place, this port and that port use the
    /// same bytes; otherwise they use different bytes of that memory.
    SameAs(usize),
    /// A list of tables: the memory with the tables' addresses, which a GPU uses, and the tables themselves.
    List(#[cfg_attr(not(feature = "cuda"), allow(dead_code))] Read<'a>, Vec<Read<'a>>),
}
