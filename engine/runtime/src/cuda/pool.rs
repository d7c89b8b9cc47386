//! A caching pool of device memory: reuse needs no driver call, and freeing does not wait.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaContext, DriverError, result, sys};

use crate::cuda::driver::{Gpu, failed};
use crate::cuda::queue::StreamPoint;
use crate::memory::InUse;
use ringforge_math::error::{Error, Result};

/// A block of device memory, which the pool hands out as a whole.
pub(crate) struct Block {
    pub(crate) address: u64,
    capacity: usize,
    /// Points in the work of streams that the next user must wait for.
    pub(crate) points: Vec<StreamPoint>,
}

/// How long a block is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// For one run, so that any block that is large enough will do.
    Run,
    /// For an unknown time. The block must not be much larger than needed, because no other user could use the excess.
    Open,
}

/// A pool of free blocks, by capacity in bytes. `held` is the total number of bytes of free blocks, of blocks in use,
/// and of memory that NCCL allocated.
#[derive(Default)]
pub(crate) struct Pool {
    free: Mutex<BTreeMap<usize, Vec<Block>>>,
    pub(crate) held: AtomicUsize,
    /// Bytes of memory in use.
    pub(crate) in_use: InUse,
}

impl Pool {
    /// Takes a free block of at least this many bytes, or allocates one. The block has the contents that its last user
    /// left.
    pub(crate) fn take(&self, gpu: &Arc<Gpu>, bytes: usize, stay: Stay) -> Result<Block> {
        let capacity = round_up(bytes).ok_or(Error::OutOfMemory { bytes })?;
        gpu.bind()?;
        if let Some(block) = self.reuse(capacity, stay) {
            return Ok(block);
        }
        let mut outcome = allocate(capacity);
        if matches!(outcome, Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY))) {
            self.release(&gpu.context);
            outcome = allocate(capacity);
        }
        match outcome {
            Ok(address) => {
                self.held.fetch_add(capacity, Ordering::Relaxed);
                Ok(Block { address, capacity, points: Vec::new() })
            }
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Err(Error::OutOfMemory { bytes }),
            Err(error) => Err(failed("cuMemAlloc")(error)),
        }
    }

    /// Bytes of device memory allocated from the driver and by NCCL.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns a block to the pool. Work on streams may still use the block, up to its points.
    pub(crate) fn give(&self, block: Block) {
        self.blocks().entry(block.capacity).or_default().push(block);
    }

    /// Waits for the users of all free blocks and returns the blocks to the driver.
    pub(crate) fn release(&self, context: &CudaContext) {
        let blocks = std::mem::take(&mut *self.blocks());
        for mut block in blocks.into_values().flatten() {
            // an error is ignored: it belongs to the work that is waited for, whose owner gets it when synchronizing
            let _ = block.points.iter_mut().try_for_each(StreamPoint::finish);
            // a point may be of another GPU's stream
            if context.bind_to_thread().is_err() {
                return;
            }
            // SAFETY: the block was allocated by `allocate`, nothing else refers to it, and its users are done.
            match unsafe { result::free_sync(block.address) } {
                Ok(()) => _ = self.held.fetch_sub(block.capacity, Ordering::Relaxed),
                Err(error) => log::warn!("device memory was not freed: {error}"),
            }
        }
    }

    /// Returns the contents of all free blocks, after waiting for their users.
    #[cfg(feature = "testkit")]
    pub(crate) fn kept(&self, gpu: &Gpu) -> Result<Vec<Vec<u8>>> {
        gpu.bind()?;
        let mut blocks = self.blocks();
        let read = |block: &mut Block| {
            block.points.iter_mut().try_for_each(StreamPoint::finish)?;
            let mut bytes = vec![0u8; block.capacity];
            // SAFETY: the block is free and has this size; its users are done, and the lock excludes new ones.
            unsafe { result::memcpy_dtoh_sync(&mut bytes, block.address) }.map_err(failed("cuMemcpyDtoH"))?;
            Ok(bytes)
        };
        blocks.values_mut().flatten().map(read).collect()
    }

    /// Takes a free block of the smallest sufficient capacity. With [`Stay::Open`], the capacity is at most twice what
    /// is needed. Buffers of shrinking sizes, such as ciphertexts, thus reuse the larger blocks freed before. Returns
    /// `None` if no free block qualifies. Of the blocks of the chosen capacity, one of the last eight freed is
    /// preferred if its users are done. Otherwise the block freed last is taken, because the stream that needs a block
    /// most likely used it.
    fn reuse(&self, capacity: usize, stay: Stay) -> Option<Block> {
        let mut free = self.blocks();
        let most = if stay == Stay::Run { usize::MAX } else { capacity.saturating_mul(2) };
        let (&found, blocks) = free.range_mut(capacity..=most).next()?;
        let recent = blocks.len().saturating_sub(8);
        // each block that is looked at costs a call of the driver
        let done = blocks[recent..].iter().rposition(|block| block.points.iter().all(StreamPoint::is_done));
        let block = blocks.remove(done.map_or(blocks.len() - 1, |at| recent + at));
        if blocks.is_empty() {
            free.remove(&found);
        }
        Some(block)
    }

    fn blocks(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<Block>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn allocate(capacity: usize) -> Result<u64, DriverError> {
    // SAFETY: a context is current. The memory is used as bytes, for which any bit pattern is valid, and is zeroed or
    // written before it is read.
    unsafe { result::malloc_sync(capacity) }
}

/// Rounds a size up, so that there are few different sizes and little waste. The result is a multiple of an eighth of
/// the largest power of two up to the size. This eighth is clamped between 512 bytes and 32 MiB. Returns `None` on
/// overflow.
fn round_up(bytes: usize) -> Option<usize> {
    let step = (1usize << (bytes.max(1).ilog2())) / 8;
    bytes.max(1).checked_next_multiple_of(step.clamp(512, 32 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_take_larger_blocks_but_buffers_do_not() {
        let pool = Pool::default();
        let give = |capacity| pool.give(Block { address: 0, capacity, points: Vec::new() });
        [1024, 4096, 1 << 20].into_iter().for_each(give);
        let taken = |capacity, stay| pool.reuse(capacity, stay).map(|block| block.capacity);
        assert_eq!(taken(1536, Stay::Open), None);
        assert_eq!(taken(2048, Stay::Open), Some(4096));
        assert_eq!(taken(2048, Stay::Run), Some(1 << 20));
        assert_eq!(taken(512, Stay::Run), Some(1024));
        assert_eq!(taken(512, Stay::Run), None);
    }

    #[test]
    fn sizes_are_few_and_waste_is_small() {
        for bytes in (0..40).flat_map(|shift| [(1usize << shift) - 1, 1 << shift, (1 << shift) + 1]) {
            let size = round_up(bytes).unwrap();
            assert!(size >= bytes && size.is_multiple_of(512));
            assert!(size - bytes <= 512.max((bytes / 8).min(32 << 20)), "{bytes} {size}");
        }
        assert_eq!(round_up(usize::MAX), None);
    }
}
