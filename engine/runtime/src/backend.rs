//! What a backend must do: hold memory, order work, run kernels. Operations are kernels, so this never grows.

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

/// A place where kernels run.
pub trait Backend: Debug + Send + Sync {
    /// What it can hold.
    fn limits(&self) -> &Limits;

    /// Memory of this many bytes, in which a kernel finds nothing of an earlier owner that was secret.
    fn allocate(&self, bytes: usize) -> Result<Memory>;

    /// The same for one run: the memory goes back soon, so it may be a piece of more.
    fn allocate_for_run(&self, bytes: usize) -> Result<Memory> {
        self.allocate(bytes)
    }

    /// A new order of work.
    fn queue(&self) -> Result<Queue>;

    /// The same for work that is taken up before that of other queues, where it could begin.
    fn urgent_queue(&self) -> Result<Queue> {
        self.queue()
    }

    /// Copies the bytes of a shape, one run behind another, into memory of the same size, after earlier work on the queue. The source
    /// may be reused on return.
    fn upload_shape(&self, queue: &Queue, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()>;

    /// Copies all bytes, likewise.
    fn upload(&self, queue: &Queue, from: &[u8], to: Write<'_>) -> Result<()> {
        self.upload_shape(queue, from, &Shape::run(0, from.len()), to)
    }

    /// Copies out of memory of the same size, after earlier work on the queue. The bytes are there on return.
    fn download(&self, queue: &Queue, from: Read<'_>, to: &mut [u8]) -> Result<()>;

    /// Copies between two of its memories of the same size, after earlier work on the queue.
    fn copy(&self, queue: &Queue, from: Read<'_>, to: Write<'_>) -> Result<()>;

    /// Overwrites memory with zeros, after earlier work on the queue.
    fn wipe(&self, queue: &Queue, memory: Write<'_>) -> Result<()>;

    /// Makes kernels ready to run, in parallel where that helps.
    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>>;

    /// Runs a kernel for a range of items, after earlier work on the queue.
    fn launch(&self, queue: &Queue, kernel: &Loaded, items: Range<usize>, ports: Vec<Bound<'_>>) -> Result<()>;

    /// Captures the launches of `work` for replay (a CUDA graph), in the place of an earlier recording. `None` on backends
    /// without capture, where `work` is not called.
    fn record(
        &self,
        _work: &mut dyn FnMut(&Queue) -> Result<()>,
        _old: Option<Recording>,
    ) -> Result<Option<Recording>> {
        Ok(None)
    }

    /// The GPU that it drives, where it drives one.
    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&Arc<crate::cuda::Gpu>> {
        None
    }

    /// Waits for all work on the queue.
    fn synchronize(&self, queue: &Queue) -> Result<()>;

    /// Whether its memory is the host's, so that arrays of the caller need no copies.
    fn is_host(&self) -> bool;

    /// Host memory, all zero, that copies to and from this backend go fastest with.
    fn pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        let memory = HostMemory::zeroed(bytes).ok_or(Error::OutOfMemory { bytes })?;
        Ok(PinnedBuffer::new(Pinned::Host(memory), bytes))
    }

    /// Bytes of its memory in use or kept for later, where it has memory of its own.
    fn held_bytes(&self) -> Option<usize> {
        None
    }

    /// What memory kept for later holds, a vector for each piece: for tests that what went back was wiped.
    #[cfg(feature = "testkit")]
    fn kept(&self) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// Gives back memory and code that nobody uses.
    fn trim(&self) {}
}

/// An order of work on a backend.
#[derive(Debug, Clone)]
pub enum Queue {
    /// Work is done when the call returns.
    Immediate,
    /// A CUDA stream.
    #[cfg(feature = "cuda")]
    Cuda(Arc<crate::cuda::CudaQueue>),
}

/// Recorded work.
#[derive(Debug)]
pub enum Recording {
    /// A CUDA graph.
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::CudaRecording),
}

impl Recording {
    /// Does the work, after earlier work on the queue, on the memory that it was recorded with.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    pub(crate) fn replay(&mut self, queue: &Queue, memories: &[Read<'_>]) -> Result<()> {
        match *self {
            #[cfg(feature = "cuda")]
            Self::Cuda(ref mut recording) => cuda::replay(recording, queue, memories),
        }
    }
}

/// A kernel made ready by a backend.
#[derive(Debug, Clone)]
pub struct Loaded {
    #[doc(hidden)]
    pub kernel: Arc<dyn Kernel>,
    /// The kernel's ports when it was loaded, which its source was made for.
    #[doc(hidden)]
    pub ports: Vec<Port>,
    /// How the blocks of an item share them out.
    #[cfg_attr(not(any(feature = "cuda", feature = "testkit")), allow(dead_code))]
    #[doc(hidden)]
    pub shares: Shares,
    /// What the backend made of it, which it alone looks into.
    #[cfg_attr(not(any(feature = "cuda", feature = "testkit")), allow(dead_code))]
    #[doc(hidden)]
    pub code: Arc<dyn Any + Send + Sync>,
}

/// What a port is bound to for one launch: its bytes of the first item that is there, and how many items are not.
#[derive(Debug)]
pub struct Bound<'a> {
    #[doc(hidden)]
    pub to: To<'a>,
    #[doc(hidden)]
    pub first: usize,
    #[doc(hidden)]
    pub skipped: usize,
}

impl<'a> Bound<'a> {
    /// To memory that holds all items.
    pub(crate) const fn all(to: To<'a>) -> Self {
        Self { to, first: 0, skipped: 0 }
    }
}

/// What a port is bound to.
#[derive(Debug)]
pub enum To<'a> {
    /// Read only; several ports may read the same memory.
    Read(Read<'a>),
    /// Written.
    Write(Write<'a>),
    /// In memory that the port with this index writes: in the same bytes where the kernel runs in place, else in others.
    SameAs(usize),
    /// Reads tables: their addresses, on a GPU, and the tables themselves.
    List(#[cfg_attr(not(feature = "cuda"), allow(dead_code))] Read<'a>, Vec<Read<'a>>),
}
