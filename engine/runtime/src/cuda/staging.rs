//! A pool of page-locked staging memory, through which copies from and to ordinary host memory pass.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaEvent, CudaStream, result};

use crate::cuda::copy::{start_download_shape, start_upload_shape};
use crate::cuda::driver::{Gpu, failed};
use crate::cuda::memory::CudaMemory;
use crate::cuda::pinned::Pinned;
use crate::cuda::queue::GpuStream;
use crate::tiles::Shape;
use ringforge_math::error::{Error, Result};

/// Maximum total size in bytes of the free memory that the pool keeps.
const KEPT_BYTES: usize = 512 << 20;

/// The most pieces that are looked at to find an idle one.
const LOOKED_AT: usize = 8;

/// Staging memory that is not in use. Secrets in it have been wiped, or will be wiped after the last copy.
#[derive(Default)]
pub(crate) struct Staging(Mutex<Vec<Piece>>);

struct Piece {
    memory: Pinned,
    /// The event after the last copy or wipe.
    busy: Option<CudaEvent>,
}

impl Piece {
    fn is_idle(&self) -> bool {
        self.busy.as_ref().is_none_or(CudaEvent::is_complete)
    }

    /// Waits for the last copy or wipe.
    fn wait(&mut self) -> Result<()> {
        if let Some(busy) = &self.busy {
            busy.synchronize().map_err(failed("cuEventSynchronize"))?;
        }
        self.busy = None;
        Ok(())
    }

    /// Waits for the last copy or wipe, so that the memory can be freed. If waiting fails, the context is lost, and so
    /// is a wipe under way. The host then wipes the memory.
    fn finish(&mut self) {
        if self.wait().is_err() {
            ringforge_cpu::wipe::bytes(self.memory.bytes_mut());
        }
    }

    /// Overwrites the first `bytes` bytes with zeros. If the memory is idle, the host does so at once; otherwise the
    /// GPU does so on this stream, after the copy under way.
    fn wipe(&mut self, bytes: usize, stream: Option<&CudaStream>) -> Result<()> {
        if let Some(stream) = stream.filter(|_| !self.is_idle()) {
            match self.wipe_behind(bytes, stream) {
                Ok(()) => return Ok(()),
                // the host wipes the bytes below, after all work that was started
                Err(_) => stream.synchronize().map_err(failed("cuStreamSynchronize"))?,
            }
        }
        self.wait()?;
        ringforge_cpu::wipe::bytes(&mut self.memory.bytes_mut()[..bytes]);
        Ok(())
    }

    fn wipe_behind(&mut self, bytes: usize, stream: &CudaStream) -> Result<()> {
        stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        let bytes = &mut self.memory.bytes_mut()[..bytes];
        // SAFETY: page-locked memory has the same address on the GPU. It is next touched after the event recorded
        // below, or, if recording fails, after all work of the stream.
        let started = unsafe { result::memset_d8_async(bytes.as_mut_ptr() as u64, 0, bytes.len(), stream.cu_stream()) };
        started.map_err(failed("cuMemsetD8Async"))?;
        self.busy = Some(stream.record_event(None).map_err(failed("cuEventRecord"))?);
        Ok(())
    }
}

impl Staging {
    /// Returns the contents of the pool's memory, after waiting for the copies and wipes that were started.
    #[cfg(feature = "testkit")]
    pub(crate) fn kept(&self) -> Result<Vec<Vec<u8>>> {
        let look = |piece: &mut Piece| piece.wait().map(|()| piece.memory.bytes().to_vec());
        self.pieces().iter_mut().map(look).collect()
    }

    /// Waits for all copies and wipes, and frees the pool's memory.
    pub(crate) fn release(&self) {
        let pieces = std::mem::take(&mut *self.pieces());
        pieces.into_iter().for_each(|mut piece| piece.finish());
    }

    fn take(&self, bytes: usize) -> Option<Piece> {
        let mut pieces = self.pieces();
        let fits = |piece: &Piece| piece.memory.bytes().len() >= bytes && piece.memory.bytes().len() / 4 <= bytes;
        // pieces are in the order of their last copies, so the first are most likely idle; each costs a call of the driver
        let mut fitting = pieces.iter().enumerate().filter(|(_, piece)| fits(piece)).take(LOOKED_AT);
        let (at, _) = fitting.find(|(_, piece)| piece.is_idle())?;
        Some(pieces.remove(at))
    }

    fn give(&self, mut piece: Piece) {
        let mut pieces = self.pieces();
        let kept: usize = pieces.iter().map(|piece| piece.memory.bytes().len()).sum();
        if kept + piece.memory.bytes().len() <= KEPT_BYTES {
            pieces.push(piece);
        } else {
            drop(pieces);
            piece.finish();
        }
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Staging memory in use. On drop it returns to the pool, possibly while its last copy is still under way.
pub(crate) struct Staged {
    gpu: Arc<Gpu>,
    piece: Option<Piece>,
    /// The stream of the last copy, on which the memory is wiped if necessary.
    stream: Option<Arc<CudaStream>>,
    secret: bool,
    /// The number of leading bytes that were used, which must be wiped if they are secret.
    used: usize,
}

impl Staged {
    /// Takes staging memory of at least this many bytes from the pool, or allocates it. If `secret`, its contents are
    /// wiped when no copy needs them any more.
    pub(crate) fn new(gpu: &Arc<Gpu>, bytes: usize, secret: bool) -> Result<Self> {
        gpu.bind()?;
        let step = if bytes <= 64 << 10 { 64 << 10 } else { 1 << 20 };
        let size = bytes.max(1).checked_next_multiple_of(step).ok_or(Error::OutOfMemory { bytes })?;
        let piece = match gpu.staging.take(size) {
            Some(piece) => piece,
            None => Piece { memory: Pinned::new(gpu, size)?, busy: None },
        };
        Ok(Self { gpu: gpu.clone(), piece: Some(piece), stream: None, secret, used: 0 })
    }

    /// Waits for the copy under way, and returns the first `len` bytes.
    pub(crate) fn bytes_mut(&mut self, len: usize) -> Result<&mut [u8]> {
        let Self { piece, used, .. } = self;
        let piece = piece.as_mut().ok_or_else(lost)?;
        piece.wait()?;
        let bytes = piece.memory.bytes_mut().get_mut(..len).ok_or(Error::OutOfMemory { bytes: len })?;
        *used = len.max(*used);
        Ok(bytes)
    }

    /// Starts a copy of the first `len` bytes to device memory at byte `offset`.
    pub(crate) fn start_upload(&mut self, queue: &GpuStream, len: usize, to: &CudaMemory, offset: usize) -> Result<()> {
        to.check(offset, len)?;
        let from = &self.bytes_mut(len)?[..];
        // SAFETY: the target is in range; the source is not touched until the event recorded below is done.
        let outcome = unsafe { result::memcpy_htod_async(to.address(offset), from, queue.stream().cu_stream()) };
        self.guard(queue)?;
        outcome.map_err(failed("cuMemcpyHtoDAsync"))
    }

    /// Starts a copy from device memory at byte `offset` to the first `len` bytes.
    pub(crate) fn start_download(
        &mut self,
        queue: &GpuStream,
        from: &CudaMemory,
        offset: usize,
        len: usize,
    ) -> Result<()> {
        from.check(offset, len)?;
        let to = self.bytes_mut(len)?;
        // SAFETY: the source is in range; the target is not touched until the event recorded below is done.
        let outcome = unsafe { result::memcpy_dtoh_async(to, from.address(offset), queue.stream().cu_stream()) };
        self.guard(queue)?;
        outcome.map_err(failed("cuMemcpyDtoHAsync"))
    }

    /// Starts a copy of the first `shape.bytes()` bytes to the runs (strided byte ranges) of a shape in device memory.
    pub(crate) fn start_upload_shape(&mut self, queue: &GpuStream, to: &CudaMemory, shape: &Shape) -> Result<()> {
        let from = &self.bytes_mut(shape.bytes())?[..];
        // SAFETY: the source is not touched until the event recorded below is done.
        let outcome = unsafe { start_upload_shape(queue, from, shape.width, to, shape) };
        self.guard(queue).and(outcome)
    }

    /// Starts a copy of the runs (strided byte ranges) of a shape in device memory to the first `shape.bytes()` bytes.
    pub(crate) fn start_download_shape(&mut self, queue: &GpuStream, from: &CudaMemory, shape: &Shape) -> Result<()> {
        let to = self.bytes_mut(shape.bytes())?;
        // SAFETY: the target is not touched until the event recorded below is done.
        let outcome = unsafe { start_download_shape(queue, from, shape, to, shape.width) };
        self.guard(queue).and(outcome)
    }

    /// Marks the memory as busy until the stream's work so far is done.
    fn guard(&mut self, queue: &GpuStream) -> Result<()> {
        self.stream = Some(queue.stream().clone());
        match queue.stream().record_event(None) {
            Ok(event) => self.piece.as_mut().ok_or_else(lost)?.busy = Some(event),
            Err(error) => {
                if queue.synchronize().is_err() {
                    self.lose();
                }
                return Err(failed("cuEventRecord")(error));
            }
        }
        Ok(())
    }

    /// Wipes the memory and leaks it instead of freeing it, because it is unknown when the GPU is done with it.
    fn lose(&mut self) {
        if let Some(mut piece) = self.piece.take() {
            ringforge_cpu::wipe::bytes(piece.memory.bytes_mut());
            std::mem::forget(piece);
        }
    }
}

/// The error for memory that [`Staged::lose`] has leaked.
fn lost() -> Error {
    Error::OutOfMemory { bytes: 0 }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let (Some(piece), true) = (&mut self.piece, self.secret && self.used > 0)
            && piece.wipe(self.used, self.stream.as_deref()).is_err()
        {
            self.lose();
        }
        if let Some(piece) = self.piece.take() {
            self.gpu.staging.give(piece);
        }
    }
}
