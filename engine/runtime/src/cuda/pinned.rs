//! Page-locked host memory. The GPU copies to and from it directly, at full speed and without blocking the host.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaContext, DriverError, result, sys};

use crate::cuda::driver::{Gpu, failed};
use ringforge_math::error::{Error, Result};

/// An allocation of page-locked host memory.
pub(crate) struct Pinned {
    context: Arc<CudaContext>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: plain memory with one owner; it is accessed only through borrows of that owner.
unsafe impl Send for Pinned {}
// SAFETY: the same as for `Send`; a shared reference only reads.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Allocates `len` bytes, all zero. `len` must be at least 1.
    pub(crate) fn new(gpu: &Gpu, len: usize) -> Result<Self> {
        gpu.bind()?;
        // SAFETY: a context is current. Any GPU may use the memory; it is not write-combined, which would be slow to
        // read.
        let start = match unsafe { result::malloc_host(len, sys::CU_MEMHOSTALLOC_PORTABLE) } {
            Ok(start) => NonNull::new(start.cast::<u8>()).ok_or(Error::OutOfMemory { bytes: len })?,
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                return Err(Error::OutOfMemory { bytes: len });
            }
            Err(error) => return Err(failed("cuMemHostAlloc")(error)),
        };
        // SAFETY: the memory was just allocated with this length.
        unsafe { start.as_ptr().write_bytes(0, len) };
        Ok(Self { context: gpu.context.clone(), start, len })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory was allocated with this length and initialised in `new`; asynchronous copies into it hold
        // a mutable borrow until they are done.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the memory is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let bound = self.context.bind_to_thread();
        // SAFETY: the memory was allocated by `malloc_host` and is freed once.
        if let Err(error) = bound.and_then(|()| unsafe { result::free_host(self.start.as_ptr().cast()) }) {
            log::warn!("page-locked memory was not freed: {error}");
        }
    }
}

/// Page-locked memory for a caller. Its address range is kept in [`RANGES`], so that copies from and to it are
/// recognised as direct.
pub(crate) struct PinnedBytes(Pinned);

/// The address ranges of the page-locked memory that callers hold, as a map from first address to length.
#[derive(Default)]
struct PinnedRanges(Mutex<BTreeMap<usize, usize>>);

static RANGES: PinnedRanges = PinnedRanges(Mutex::new(BTreeMap::new()));

/// Whether all of these bytes are page-locked, so that GPUs can copy from and to them directly.
pub(crate) fn is_pinned(bytes: &[u8]) -> bool {
    RANGES.contain(bytes)
}

impl PinnedRanges {
    fn contain(&self, bytes: &[u8]) -> bool {
        let start = bytes.as_ptr() as usize;
        let ranges = self.ranges();
        let before = ranges.range(..=start).next_back();
        before.is_some_and(|(&from, &len)| start - from <= len && bytes.len() <= len - (start - from))
    }

    fn ranges(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PinnedBytes {
    /// Allocates `len` bytes, all zero. `len` must be at least 1.
    pub(crate) fn new(gpu: &Gpu, len: usize) -> Result<Self> {
        let memory = Pinned::new(gpu, len)?;
        RANGES.ranges().insert(memory.start.as_ptr() as usize, len);
        Ok(Self(memory))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

impl Drop for PinnedBytes {
    fn drop(&mut self) {
        // the range is removed before the memory is freed, so that ordinary memory at the same address is never
        // mistaken for it
        RANGES.ranges().remove(&(self.0.start.as_ptr() as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ranges_count() {
        let memory = [0u8; 64];
        let ranges = PinnedRanges::default();
        assert!(!ranges.contain(&memory));
        ranges.ranges().insert(memory.as_ptr() as usize + 8, 32);
        assert!(ranges.contain(&memory[8..40]));
        assert!(ranges.contain(&memory[20..30]));
        for outside in [0..9, 7..20, 8..41, 39..41, 41..50] {
            assert!(!ranges.contain(&memory[outside.clone()]), "{outside:?}");
        }
    }
}
