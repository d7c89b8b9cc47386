//! Page-locked memory that copies from and to ordinary host memory pass through, kept and used again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaEvent;
use cudarc::driver::result;

use crate::columns::Shape;
use crate::cuda::copy::{start_download_shape, start_upload_shape};
use crate::cuda::driver::{Gpu, failed};
use crate::cuda::memory::CudaMemory;
use crate::cuda::pinned::Pinned;
use crate::cuda::queue::CudaQueue;
use crate::error::{Error, Result};
use crate::wipe;

/// More than this is not kept.
const KEPT_BYTES: usize = 512 << 20;

/// Staging memory that nobody uses at the moment.
#[derive(Default)]
pub(crate) struct Staging(Mutex<Vec<Piece>>);

struct Piece {
    memory: Pinned,
    /// The last copy.
    copy: Option<CudaEvent>,
    /// How many bytes may hold something that must not stay.
    tainted: usize,
}

impl Piece {
    fn is_idle(&self) -> bool {
        self.copy.as_ref().is_none_or(CudaEvent::is_complete)
    }

    fn wipe(&mut self) {
        let tainted = std::mem::take(&mut self.tainted);
        wipe::bytes(&mut self.memory.bytes_mut()[..tainted]);
    }
}

impl Staging {
    /// Wipes what no copy uses any more.
    pub(crate) fn sweep(&self) {
        for piece in self.pieces().iter_mut().filter(|piece| piece.tainted > 0) {
            if piece.is_idle() {
                piece.wipe();
            }
        }
    }

    /// What pieces hold that no copy uses any more, as a sweep leaves them.
    #[cfg(feature = "testkit")]
    pub(crate) fn kept(&self) -> Vec<Vec<u8>> {
        self.sweep();
        let pieces = self.pieces();
        pieces.iter().filter(|piece| piece.is_idle()).map(|piece| piece.memory.bytes().to_vec()).collect()
    }

    /// Waits for all copies, wipes and frees the memory.
    pub(crate) fn release(&self) {
        let pieces = std::mem::take(&mut *self.pieces());
        for mut piece in pieces {
            // a failure means that the context is lost, and the copy with it
            let _ = piece.copy.take().map(|copy| copy.synchronize());
            piece.wipe();
        }
    }

    fn take(&self, bytes: usize) -> Option<Piece> {
        let mut pieces = self.pieces();
        let fits = |piece: &Piece| piece.memory.bytes().len() >= bytes && piece.memory.bytes().len() / 4 <= bytes;
        let at = pieces.iter().position(|piece| fits(piece) && piece.is_idle())?;
        Some(pieces.swap_remove(at))
    }

    fn give(&self, piece: Piece) {
        let mut pieces = self.pieces();
        let kept: usize = pieces.iter().map(|piece| piece.memory.bytes().len()).sum();
        if kept + piece.memory.bytes().len() <= KEPT_BYTES {
            pieces.push(piece);
            return;
        }
        drop(pieces);
        let mut piece = piece;
        let _ = piece.copy.take().map(|copy| copy.synchronize());
        piece.wipe();
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Staging memory in use: goes back when dropped, with the copy that may still be under way.
pub(crate) struct Staged {
    gpu: Arc<Gpu>,
    piece: Option<Piece>,
    secret: bool,
}

impl Staged {
    /// Staging memory of at least this many bytes; with `secret`, what it held is wiped as soon as no copy needs it.
    pub(crate) fn new(gpu: &Arc<Gpu>, bytes: usize, secret: bool) -> Result<Self> {
        gpu.bind()?;
        let step = if bytes <= 64 << 10 { 64 << 10 } else { 1 << 20 };
        let size = bytes.max(1).checked_next_multiple_of(step).ok_or(Error::OutOfMemory { bytes })?;
        let piece = match gpu.staging.take(size) {
            Some(piece) => piece,
            None => Piece { memory: Pinned::new(gpu, size)?, copy: None, tainted: 0 },
        };
        Ok(Self { gpu: gpu.clone(), piece: Some(piece), secret })
    }

    /// The bytes, after waiting for a copy under way.
    pub(crate) fn bytes_mut(&mut self, len: usize) -> Result<&mut [u8]> {
        let secret = self.secret;
        let piece = self.piece()?;
        if let Some(copy) = &piece.copy {
            copy.synchronize().map_err(failed("cuEventSynchronize"))?;
        }
        piece.copy = None;
        if secret {
            piece.tainted = piece.tainted.max(len);
        }
        piece.memory.bytes_mut().get_mut(..len).ok_or(Error::OutOfMemory { bytes: len })
    }

    /// Starts a copy of the first bytes to device memory.
    pub(crate) fn start_upload(&mut self, queue: &CudaQueue, len: usize, to: &CudaMemory, offset: usize) -> Result<()> {
        to.check(offset, len)?;
        let from = &self.bytes_mut(len)?[..];
        // SAFETY: the target is in range; the source is not touched until the event recorded below is done.
        let outcome = unsafe { result::memcpy_htod_async(to.address(offset), from, queue.stream().cu_stream()) };
        self.guard(queue)?;
        outcome.map_err(failed("cuMemcpyHtoDAsync"))
    }

    /// Starts a copy from device memory to the first bytes.
    pub(crate) fn start_download(
        &mut self,
        queue: &CudaQueue,
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

    /// Starts a copy of the first bytes to where a shape's bytes lie in device memory.
    pub(crate) fn start_upload_shape(&mut self, queue: &CudaQueue, to: &CudaMemory, shape: &Shape) -> Result<()> {
        let from = &self.bytes_mut(shape.bytes())?[..];
        // SAFETY: the source is not touched until the event recorded below is done.
        let outcome = unsafe { start_upload_shape(queue, from, shape.width, to, shape) };
        self.guard(queue).and(outcome)
    }

    /// Starts a copy of a shape's bytes in device memory to the first bytes.
    pub(crate) fn start_download_shape(&mut self, queue: &CudaQueue, from: &CudaMemory, shape: &Shape) -> Result<()> {
        let to = self.bytes_mut(shape.bytes())?;
        // SAFETY: the target is not touched until the event recorded below is done.
        let outcome = unsafe { start_download_shape(queue, from, shape, to, shape.width) };
        self.guard(queue).and(outcome)
    }

    /// Keeps others off the memory until the queue's work so far is done.
    fn guard(&mut self, queue: &CudaQueue) -> Result<()> {
        match queue.stream().record_event(None) {
            Ok(event) => self.piece()?.copy = Some(event),
            Err(error) => {
                if queue.synchronize().is_err() {
                    // nobody can tell when the copy ends: lose the memory rather than use it again
                    std::mem::forget(self.piece.take());
                }
                return Err(failed("cuEventRecord")(error));
            }
        }
        Ok(())
    }

    fn piece(&mut self) -> Result<&mut Piece> {
        // taken only by `guard` in an emergency
        self.piece.as_mut().ok_or(Error::OutOfMemory { bytes: 0 })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(mut piece) = self.piece.take() {
            if piece.tainted > 0 && piece.is_idle() {
                piece.wipe();
            }
            self.gpu.staging.give(piece);
        }
    }
}
