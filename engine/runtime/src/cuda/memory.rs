//! Device memory that tracks its last users, so that work on several streams keeps the necessary order.

use core::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result;

use crate::cuda::driver::{Gpu, failed};
use crate::cuda::nccl::Shared;
use crate::cuda::pool::{Block, Stay};
use crate::cuda::queue::{GpuStream, StreamPoint};
use ringforge_math::error::{Error, Result};

/// How some work on a stream accesses a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads the memory.
    Read,
    /// Reads the memory, or writes parts of it.
    Write,
    /// Writes all of the memory and reads nothing.
    Overwrite,
}

/// Memory of a GPU, which tracks the last work that uses it.
pub struct CudaMemory {
    gpu: Arc<Gpu>,
    len: usize,
    address: u64,
    state: Mutex<State>,
    /// The owner of the memory if NCCL, rather than the pool, allocated it. The owner frees the memory after all users
    /// are done.
    shared: Option<Box<Shared>>,
}

/// A range of bytes of a GPU's memory.
#[derive(Clone, Copy)]
pub struct GpuSlice<'a> {
    pub(crate) memory: &'a CudaMemory,
    /// Offset of the first byte.
    pub(crate) first: usize,
    pub(crate) len: usize,
}

impl GpuSlice<'_> {
    /// The sub-range `bytes` of this range.
    pub(crate) fn part(self, bytes: &Range<usize>) -> Self {
        Self { first: self.first + bytes.start, len: bytes.len(), ..self }
    }

    /// Checks that the range has exactly this many bytes, and that the memory holds them.
    pub(crate) fn check(&self, bytes: usize) -> Result<()> {
        if bytes == self.len {
            return self.memory.check(self.first, self.len);
        }
        Err(Error::Length { what: "bytes of device memory", expected: self.len, got: bytes })
    }

    /// The kind of access to the memory as a whole when this range is overwritten.
    pub(crate) fn overwrite(&self) -> Access {
        if self.len == self.memory.len { Access::Overwrite } else { Access::Write }
    }

    /// Overwrites the range with zeros, after earlier users of the memory.
    pub(crate) fn wipe(&self, queue: &GpuStream) -> Result<()> {
        let Self { memory, first, len } = *self;
        memory.check(first, len)?;
        if len == 0 {
            return Ok(());
        }
        memory.before(queue, self.overwrite())?;
        let bytes = || vec![(memory.address(first)..memory.address(first + len), true)];
        let outcome = queue.add(bytes, |_| {
            // SAFETY: the memory is allocated and holds the bytes; the stream waits for all earlier users.
            unsafe { result::memset_d8_async(memory.address(first), 0, len, queue.stream().cu_stream()) }
                .map_err(failed("cuMemsetD8Async"))
        });
        if !queue.is_recorder() {
            memory.after(queue.point(), self.overwrite(), outcome.is_ok());
        }
        outcome
    }
}

/// The points in the work of streams that later users of the memory must wait for. A reader must wait for the last
/// writer. A writer must wait for the last writer and for all readers since then.
struct State {
    block: Option<Block>,
    writer: Option<StreamPoint>,
    /// The readers since the last writer, at most one for each stream.
    readers: Vec<StreamPoint>,
    /// Whether the memory still holds the contents of an earlier owner. It is then zeroed before the first use that
    /// could reveal them.
    stale: bool,
}

impl CudaMemory {
    /// Allocates this many bytes, which read as zero. `stay` says how long the memory is needed.
    pub(crate) fn new(gpu: &Arc<Gpu>, len: usize, stay: Stay) -> Result<Self> {
        let mut block = (len > 0).then(|| gpu.pool.take(gpu, len, stay)).transpose()?;
        let address = block.as_ref().map_or(0, |block| block.address);
        let readers = block.as_mut().map(|block| std::mem::take(&mut block.points)).unwrap_or_default();
        let state = Mutex::new(State { block, writer: None, readers, stale: len > 0 });
        gpu.pool.in_use.add(len);
        Ok(Self { gpu: gpu.clone(), len, address, state, shared: None })
    }

    /// Memory at this address, which is owned by other code and not freed here.
    pub(crate) fn foreign(gpu: &Arc<Gpu>, address: u64, len: usize) -> Self {
        let state = State { block: None, writer: None, readers: Vec::new(), stale: false };
        Self { gpu: gpu.clone(), len, address, state: Mutex::new(state), shared: None }
    }

    /// Memory that NCCL allocated and other GPUs can write to. It reads as zero.
    pub(crate) fn shared(shared: Shared, len: usize) -> Self {
        let state = State { block: None, writer: None, readers: Vec::new(), stale: len > 0 };
        let (gpu, address) = (shared.gpu().clone(), shared.address());
        Self { gpu, len, address, state: Mutex::new(state), shared: Some(Box::new(shared)) }
    }

    /// Waits on this thread for all earlier users, including those of an earlier owner. Other code may write to the
    /// memory afterwards, so the engine does not zero it any more.
    pub(crate) fn assume_written(&mut self) -> Result<()> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.writer.iter_mut().chain(&mut state.readers).try_for_each(StreamPoint::finish)?;
        state.stale = false;
        Ok(())
    }

    /// Keeps the contents of an earlier owner instead of zeroing them. From then on, only bytes that were written since
    /// the allocation may be read.
    pub(crate) fn skip_zeroing(&mut self) {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).stale = false;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The range of all bytes.
    pub(crate) fn all(&self) -> GpuSlice<'_> {
        GpuSlice { memory: self, first: 0, len: self.len }
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub(crate) fn is_on(&self, gpu: &Arc<Gpu>) -> bool {
        Arc::ptr_eq(&self.gpu, gpu)
    }

    /// The address of the byte at this offset.
    pub(crate) fn address(&self, offset: usize) -> u64 {
        self.address + offset as u64
    }

    /// Checks that these bytes are within the memory.
    pub(crate) fn check(&self, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(Error::Length {
                what: "bytes of device memory",
                expected: self.len,
                got: offset.saturating_add(bytes),
            }),
        }
    }

    /// Makes the stream wait for all earlier users that this access must follow, and zeroes memory that still holds old
    /// contents, unless the access overwrites all of it. On a capturing stream, only adds the access to the graph's
    /// list of memory uses.
    pub(crate) fn before(&self, queue: &GpuStream, access: Access) -> Result<()> {
        if queue.records(self, access) {
            return Ok(());
        }
        let state = &mut *self.state();
        if let Some(writer) = &mut state.writer {
            queue.wait(writer)?;
        }
        if access != Access::Read || state.stale {
            for reader in &mut state.readers {
                queue.wait(reader)?;
            }
        }
        if state.stale && access != Access::Overwrite {
            // SAFETY: the memory is allocated and has this length; the stream waits for all earlier users.
            let zeroed = unsafe { result::memset_d8_async(self.address, 0, self.len, queue.stream().cu_stream()) };
            state.record(queue.point(), Access::Write);
            zeroed.map_err(failed("cuMemsetD8Async"))?;
            state.stale = false;
            // dropping the event of another GPU makes that GPU's context current
            queue.gpu().bind()?;
        }
        Ok(())
    }

    /// Records that the stream's work up to the point uses the memory, so that later users wait for it. Must be called
    /// even if the work could not be started; `started` is then false.
    pub(crate) fn after(&self, point: StreamPoint, access: Access, started: bool) {
        let state = &mut *self.state();
        state.stale &= !(started && access == Access::Overwrite);
        state.record(point, access);
    }

    /// Returns true if a message to or from another rank uses this memory for the first time, and records that it has
    /// been used. Always false for memory that NCCL did not allocate.
    pub(crate) fn meets(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.meets())
    }

    /// Records all users of `other` as readers of this memory.
    pub(crate) fn used_with(&self, other: &Self) {
        let users = other.state();
        let users: Vec<StreamPoint> = users.writer.iter().chain(&users.readers).cloned().collect();
        users.into_iter().for_each(|point| self.state().record(point, Access::Read));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn record(&mut self, point: StreamPoint, access: Access) {
        if access != Access::Read {
            self.readers.clear();
            self.writer = Some(point);
            return;
        }
        // the newest point of a stream covers the stream's older points; if there are more than 8 readers, those that
        // are done are dropped
        let many = self.readers.len() > 8;
        self.readers.retain(|reader| !(reader.is_beside(&point) || many && reader.is_done()));
        self.readers.push(point);
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.shared.is_some() {
            // an error is ignored: it belongs to the work that is waited for, whose owner gets it when synchronizing
            let mut users = state.writer.iter_mut().chain(&mut state.readers);
            let _ = self.gpu.bind().and_then(|()| users.try_for_each(StreamPoint::finish));
        }
        if let Some(mut block) = state.block.take() {
            self.gpu.pool.in_use.sub(self.len);
            block.points.append(&mut state.readers);
            block.points.extend(state.writer.take());
            self.gpu.pool.give(block);
        }
    }
}

impl core::fmt::Debug for GpuSlice<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Part({} bytes)", self.len)
    }
}

impl core::fmt::Debug for CudaMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // the contents are not printed, because they may be secret
        write!(f, "CudaMemory({} bytes)", self.len)
    }
}
