//! Copies between host and device. Host memory that is not page-locked is copied through page-locked staging memory. A
//! [`Shape`] selects bytes of an item: runs (byte ranges) of equal length with a constant stride.

use std::collections::VecDeque;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUmemorytype};
use rayon::prelude::*;

use crate::cuda::driver::failed;
use crate::cuda::memory::{Access, CudaMemory, GpuSlice};
use crate::cuda::pinned::is_pinned;
use crate::cuda::queue::GpuStream;
use crate::cuda::staging::Staged;
use crate::tiles::Shape;
use ringforge_math::error::Result;

/// Maximum size in bytes of a piece, which is copied through staging memory at once.
const PIECE: usize = 4 << 20;
/// Maximum number of pieces in flight.
const PIECES: usize = 3;
/// Host memory of at least this many bytes is copied by several threads, `SHARE` bytes at a time.
const MANY: usize = 1 << 20;
const SHARE: usize = 256 << 10;

/// Copies host memory, on rayon's threads if it is large. The caller must not hold a lock, because a rayon thread that
/// waits may run any other task.
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() < MANY {
        to.copy_from_slice(from);
    } else {
        ringforge_cpu::threads::start();
        to.par_chunks_mut(SHARE).zip(from.par_chunks(SHARE)).for_each(|(to, from)| to.copy_from_slice(from));
    }
}

/// Packs the bytes that `shape` selects from `from` into device memory. The caller may reuse `from` when the call
/// returns.
pub(crate) fn upload(queue: &GpuStream, from: &[u8], shape: &Shape, part: GpuSlice<'_>) -> Result<()> {
    part.check(shape.bytes())?;
    if shape.bytes() == 0 {
        return Ok(());
    }
    queue.gpu().bind()?;
    let GpuSlice { memory: to, first, .. } = part;
    let access = part.overwrite();
    to.before(queue, access)?;
    let runs = &from[shape.offset..shape.offset + shape.extent()];
    let outcome = if is_pinned(runs) {
        let target = Shape { offset: first, pitch: shape.width, ..*shape };
        // SAFETY: the copy is waited for before the source can change.
        let started = unsafe { start_upload_shape(queue, runs, shape.pitch, to, &target) };
        queue.synchronize().and(started)
    } else {
        upload_staged(queue, from, shape, to, first)
    };
    to.after(queue.point(), access, outcome.is_ok());
    outcome
}

fn upload_staged(queue: &GpuStream, from: &[u8], shape: &Shape, to: &CudaMemory, mut offset: usize) -> Result<()> {
    let mut under_way = VecDeque::new();
    for piece in shape.pieces(PIECE) {
        let oldest = if under_way.len() < PIECES { None } else { under_way.pop_front() };
        let mut staged = oldest.map_or_else(|| Staged::new(queue.gpu(), piece.bytes(), true), Ok)?;
        gather(from, &piece, staged.bytes_mut(piece.bytes())?);
        staged.start_upload(queue, piece.bytes(), to, offset)?;
        under_way.push_back(staged);
        offset += piece.bytes();
    }
    Ok(())
}

/// Copies device memory to host memory. Returns when all bytes have arrived.
pub(crate) fn download(queue: &GpuStream, part: GpuSlice<'_>, to: &mut [u8]) -> Result<()> {
    part.check(to.len())?;
    if to.is_empty() {
        return Ok(());
    }
    queue.gpu().bind()?;
    let GpuSlice { memory: from, first, .. } = part;
    from.before(queue, Access::Read)?;
    let outcome = if is_pinned(to) {
        // SAFETY: the copy is waited for before the target can be read.
        let started = unsafe { start_download(queue, from, first, to) };
        queue.synchronize().and(started)
    } else {
        download_staged(queue, from, first, to)
    };
    from.after(queue.point(), Access::Read, outcome.is_ok());
    outcome
}

fn download_staged(queue: &GpuStream, from: &CudaMemory, offset: usize, to: &mut [u8]) -> Result<()> {
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

/// Copies one range of device memory to another one of the same size, which is on the stream's GPU. The source may be on
/// another GPU.
pub(crate) fn between(queue: &GpuStream, from: GpuSlice<'_>, to: GpuSlice<'_>) -> Result<()> {
    from.check(to.len)?;
    to.check(from.len)?;
    if to.len == 0 {
        return Ok(());
    }
    queue.gpu().reach(from.memory.gpu())?;
    queue.gpu().bind()?;
    from.memory.before(queue, Access::Read)?;
    to.memory.before(queue, to.overwrite())?;
    // SAFETY: the stream waits for earlier users of both memories.
    let outcome = unsafe {
        match from.memory.gpu().context == queue.gpu().context {
            true => start_between(queue, from, to),
            false => start_from_peer(queue, from, to),
        }
    };
    from.memory.after(queue.point(), Access::Read, outcome.is_ok());
    to.memory.after(queue.point(), to.overwrite(), outcome.is_ok());
    outcome
}

/// Starts a copy of one range of device memory to another one of the same size.
///
/// # Safety
/// Until the stream's work so far is done, no other work may write either memory or read the target.
pub(crate) unsafe fn start_between(queue: &GpuStream, from: GpuSlice<'_>, to: GpuSlice<'_>) -> Result<()> {
    from.check(to.len)?;
    to.check(from.len)?;
    let (source, target) = (from.memory.address(from.first), to.memory.address(to.first));
    // SAFETY: both memories hold the bytes; the caller guarantees that no other work conflicts.
    let outcome = unsafe { result::memcpy_dtod_async(target, source, to.len, queue.stream().cu_stream()) };
    outcome.map_err(failed("cuMemcpyDtoDAsync"))
}

/// Starts a copy like [`start_between`], from the memory of another GPU.
///
/// # Safety
/// As [`start_between`].
unsafe fn start_from_peer(queue: &GpuStream, from: GpuSlice<'_>, to: GpuSlice<'_>) -> Result<()> {
    let [(source, source_gpu), (target, target_gpu)] =
        [from, to].map(|part| (part.memory.address(part.first), part.memory.gpu().context.cu_ctx()));
    // SAFETY: both memories hold the bytes; the caller guarantees that no other work conflicts.
    let outcome =
        unsafe { sys::cuMemcpyPeerAsync(target, target_gpu, source, source_gpu, to.len, queue.stream().cu_stream()) };
    outcome.result().map_err(failed("cuMemcpyPeerAsync"))
}

/// Waits for a download into staging memory, and copies the bytes to `to`. Returns the staging memory for reuse.
fn land(mut staged: Staged, to: &mut [u8]) -> Result<Staged> {
    copy(staged.bytes_mut(to.len())?, to);
    Ok(staged)
}

/// Packs the bytes that `shape` selects from `from` into contiguous memory. It may use rayon's threads, so, as for
/// [`copy`], the caller must not hold a lock.
pub(crate) fn gather(from: &[u8], shape: &Shape, to: &mut [u8]) {
    let Shape { offset, rows, width, pitch } = *shape;
    let from = &from[offset..offset + shape.extent()];
    if rows == 1 {
        return copy(from, to);
    }
    ringforge_cpu::threads::start();
    let rows = to.par_chunks_exact_mut(width).zip(from.par_chunks(pitch));
    rows.with_min_len(SHARE.div_ceil(width)).for_each(|(to, from)| to.copy_from_slice(&from[..width]));
}

/// Unpacks contiguous bytes into the runs of a shape in `to`: the inverse of [`gather`].
pub(crate) fn scatter(from: &[u8], to: &mut [u8], shape: &Shape) {
    let Shape { offset, rows, width, pitch } = *shape;
    let to = &mut to[offset..offset + shape.extent()];
    if rows == 1 {
        return copy(from, to);
    }
    ringforge_cpu::threads::start();
    let rows = from.par_chunks_exact(width).zip(to.par_chunks_mut(pitch));
    rows.with_min_len(SHARE.div_ceil(width)).for_each(|(from, to)| to[..width].copy_from_slice(from));
}

/// Starts a copy from page-locked memory to the runs of a shape in device memory. In `from`, the first run begins at
/// byte 0, and the runs have a stride of `pitch` bytes.
///
/// # Safety
/// The source must not change before the stream's work so far is done.
pub(crate) unsafe fn start_upload_shape(
    queue: &GpuStream,
    from: &[u8],
    pitch: usize,
    to: &CudaMemory,
    shape: &Shape,
) -> Result<()> {
    to.check(shape.offset, shape.extent())?;
    let from = &from[..Shape { pitch, ..*shape }.extent()];
    if shape.rows == 1 {
        // SAFETY: the caller guarantees the same.
        return unsafe { start_upload(queue, from, to, shape.offset) };
    }
    let copy = sys::CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: from.as_ptr().cast(),
        srcPitch: pitch,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: to.address(shape.offset),
        dstPitch: shape.pitch,
        ..rows_of(shape)
    };
    // SAFETY: source and target were checked to hold the rows; the caller does not change the source.
    let outcome = unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, queue.stream().cu_stream()) };
    outcome.result().map_err(failed("cuMemcpy2DAsync"))
}

/// Starts a copy from the runs of a shape in device memory to page-locked memory. In `to`, the first run begins at byte
/// 0, and the runs have a stride of `pitch` bytes.
///
/// # Safety
/// The target must not be accessed before the stream's work so far is done.
pub(crate) unsafe fn start_download_shape(
    queue: &GpuStream,
    from: &CudaMemory,
    shape: &Shape,
    to: &mut [u8],
    pitch: usize,
) -> Result<()> {
    from.check(shape.offset, shape.extent())?;
    let to = &mut to[..Shape { pitch, ..*shape }.extent()];
    if shape.rows == 1 {
        // SAFETY: the caller guarantees the same.
        return unsafe { start_download(queue, from, shape.offset, to) };
    }
    let copy = sys::CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: from.address(shape.offset),
        srcPitch: shape.pitch,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: to.as_mut_ptr().cast(),
        dstPitch: pitch,
        ..rows_of(shape)
    };
    // SAFETY: source and target were checked to hold the rows; the caller does not touch the target.
    let outcome = unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, queue.stream().cu_stream()) };
    outcome.result().map_err(failed("cuMemcpy2DAsync"))
}

/// A description of a 2D copy with the shape's size, to which the caller adds source and target.
fn rows_of(shape: &Shape) -> sys::CUDA_MEMCPY2D {
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: core::ptr::null(),
        srcDevice: 0,
        srcArray: core::ptr::null_mut(),
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: core::ptr::null_mut(),
        dstDevice: 0,
        dstArray: core::ptr::null_mut(),
        dstPitch: 0,
        WidthInBytes: shape.width,
        Height: shape.rows,
    }
}

/// Starts a copy from page-locked memory to device memory at byte `offset`.
///
/// # Safety
/// The source must not change before the stream's work so far is done.
pub(crate) unsafe fn start_upload(queue: &GpuStream, from: &[u8], to: &CudaMemory, offset: usize) -> Result<()> {
    to.check(offset, from.len())?;
    // SAFETY: the target is in range; the caller does not change the source.
    let outcome = unsafe { result::memcpy_htod_async(to.address(offset), from, queue.stream().cu_stream()) };
    outcome.map_err(failed("cuMemcpyHtoDAsync"))
}

/// Starts a copy from device memory at byte `offset` to page-locked memory.
///
/// # Safety
/// The target must not be accessed before the stream's work so far is done.
pub(crate) unsafe fn start_download(queue: &GpuStream, from: &CudaMemory, offset: usize, to: &mut [u8]) -> Result<()> {
    from.check(offset, to.len())?;
    // SAFETY: the source is in range; the caller does not touch the target.
    let outcome = unsafe { result::memcpy_dtoh_async(to, from.address(offset), queue.stream().cu_stream()) };
    outcome.map_err(failed("cuMemcpyDtoHAsync"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_gathered_and_scattered() {
        let item: Vec<u8> = (0..3 << 20).map(|i: u32| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        let shapes = [
            Shape { offset: 5, rows: 3, width: 7, pitch: 11 },
            Shape { offset: 64, rows: 1000, width: 1024, pitch: 3072 },
            Shape { offset: (3 << 20) - 2048 - 100, rows: 2, width: 100, pitch: 2048 }, // ends with the item
            Shape::run(1, (3 << 20) - 1),
        ];
        for shape in shapes {
            let mut together = vec![0; shape.bytes()];
            gather(&item, &shape, &mut together);
            let rows = (0..shape.rows).flat_map(|row| &item[shape.offset + row * shape.pitch..][..shape.width]);
            assert!(rows.eq(&together), "{shape:?}");

            let mut back = item.clone();
            together.iter_mut().for_each(|byte| *byte = !*byte);
            scatter(&together, &mut back, &shape);
            let inside = |i: usize| {
                let at = i.wrapping_sub(shape.offset);
                at < shape.extent() && at % shape.pitch < shape.width
            };
            assert!(back.iter().zip(&item).enumerate().all(|(i, (a, b))| *a == if inside(i) { !b } else { *b }));
        }
    }
}
