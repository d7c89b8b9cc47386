//! Copies between host and device, through staging memory unless the host memory is page-locked itself.

use std::collections::VecDeque;

use cudarc::driver::result;
use rayon::prelude::*;

use crate::cuda::driver::failed;
use crate::cuda::memory::{Access, CudaMemory};
use crate::cuda::queue::CudaQueue;
use crate::cuda::staging::Staged;
use crate::error::Result;

/// Bytes that go through staging memory at a time.
const PIECE: usize = 4 << 20;
/// Pieces under way at a time.
const PIECES: usize = 3;
/// Bytes from which on several threads copy, and what each then copies at a time.
const MANY: usize = 1 << 20;
const SHARE: usize = 256 << 10;

/// Copies host memory, on several threads where that helps. No lock may be held: a thread that waits here may take up
/// any other work.
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() < MANY {
        to.copy_from_slice(from);
    } else {
        to.par_chunks_mut(SHARE).zip(from.par_chunks(SHARE)).for_each(|(to, from)| to.copy_from_slice(from));
    }
}

/// Copies to device memory. The source may be used again on return.
pub(crate) fn upload(queue: &CudaQueue, from: &[u8], to: &CudaMemory, offset: usize) -> Result<()> {
    to.check(offset, from.len())?;
    if from.is_empty() {
        return Ok(());
    }
    queue.gpu().bind()?;
    let access = if from.len() == to.len() { Access::Overwrite } else { Access::Write };
    to.before(queue, access)?;
    let outcome = if queue.gpu().pinned.contain(from) {
        // SAFETY: waited for before the source can change.
        let started = unsafe { start_upload(queue, from, to, offset) };
        queue.synchronize().and(started)
    } else {
        upload_staged(queue, from, to, offset)
    };
    to.after(queue.point(), access, outcome.is_ok());
    outcome
}

fn upload_staged(queue: &CudaQueue, from: &[u8], to: &CudaMemory, offset: usize) -> Result<()> {
    let mut under_way = VecDeque::new();
    for (i, piece) in from.chunks(PIECE).enumerate() {
        let oldest = if under_way.len() < PIECES { None } else { under_way.pop_front() };
        let mut staged = oldest.map_or_else(|| Staged::new(queue.gpu(), piece.len(), true), Ok)?;
        copy(piece, staged.bytes_mut(piece.len())?);
        staged.start_upload(queue, piece.len(), to, offset + i * PIECE)?;
        under_way.push_back(staged);
    }
    Ok(())
}

/// Copies from device memory. The bytes are there on return.
pub(crate) fn download(queue: &CudaQueue, from: &CudaMemory, offset: usize, to: &mut [u8]) -> Result<()> {
    from.check(offset, to.len())?;
    if to.is_empty() {
        return Ok(());
    }
    queue.gpu().bind()?;
    from.before(queue, Access::Read)?;
    let outcome = if queue.gpu().pinned.contain(to) {
        // SAFETY: waited for before the target can be read.
        let started = unsafe { start_download(queue, from, offset, to) };
        queue.synchronize().and(started)
    } else {
        download_staged(queue, from, offset, to)
    };
    from.after(queue.point(), Access::Read, outcome.is_ok());
    // earlier uploads of this queue are done as well
    queue.gpu().staging.sweep();
    outcome
}

fn download_staged(queue: &CudaQueue, from: &CudaMemory, offset: usize, to: &mut [u8]) -> Result<()> {
    let mut under_way: VecDeque<(Staged, &mut [u8])> = VecDeque::new();
    for (i, piece) in to.chunks_mut(PIECE).enumerate() {
        let oldest = if under_way.len() < PIECES { None } else { under_way.pop_front() };
        let mut staged = match oldest {
            Some((staged, piece)) => land(staged, piece)?,
            None => Staged::new(queue.gpu(), piece.len(), true)?,
        };
        staged.start_download(queue, from, offset + i * PIECE, piece.len())?;
        under_way.push_back((staged, piece));
    }
    for (staged, piece) in under_way {
        land(staged, piece)?;
    }
    Ok(())
}

/// Waits for a piece and copies it where it belongs.
fn land(mut staged: Staged, to: &mut [u8]) -> Result<Staged> {
    copy(staged.bytes_mut(to.len())?, to);
    Ok(staged)
}

/// Starts a copy from page-locked memory.
///
/// # Safety
/// The source must not change before the queue's work so far is done.
pub(crate) unsafe fn start_upload(queue: &CudaQueue, from: &[u8], to: &CudaMemory, offset: usize) -> Result<()> {
    to.check(offset, from.len())?;
    // SAFETY: the target is in range; the caller keeps the source.
    let outcome = unsafe { result::memcpy_htod_async(to.address(offset), from, queue.stream().cu_stream()) };
    outcome.map_err(failed("cuMemcpyHtoDAsync"))
}

/// Starts a copy to page-locked memory.
///
/// # Safety
/// The target must not be touched before the queue's work so far is done.
pub(crate) unsafe fn start_download(queue: &CudaQueue, from: &CudaMemory, offset: usize, to: &mut [u8]) -> Result<()> {
    from.check(offset, to.len())?;
    // SAFETY: the source is in range; the caller keeps off the target.
    let outcome = unsafe { result::memcpy_dtoh_async(to, from.address(offset), queue.stream().cu_stream()) };
    outcome.map_err(failed("cuMemcpyDtoHAsync"))
}
