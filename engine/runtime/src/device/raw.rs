//! Raw handles for interoperation with other CUDA code: memory as device addresses, and streams as the driver's
//! handles.
//!
//! The engine works in the primary context of its GPU, as the CUDA runtime does, so the engine and other code can use
//! each other's pointers and streams. The engine cannot see *when* other code uses memory. Therefore:
//!
//! - Other code may use a buffer's memory when the engine's work on it is done: after [`Stream::synchronize`] on every
//!   stream that used the buffer. Work that is enqueued on the [handle](Stream::raw_handle) of such a stream need not
//!   wait.
//! - The engine may use the memory again when the other code is done. Enqueue the other code's work on the handle of
//!   the stream that uses the buffer next, or wait for that work.
//! - Between a stream of other code and one of the engine, [`Stream::wait_for_raw`] and [`Stream::raw_waits`] establish
//!   the order without blocking a thread.
//! - A buffer may be dropped when no other code uses it. Memory of other code may be freed when no stream of the engine
//!   uses it.

#![allow(unsafe_code)]

use core::ffi::c_void;

use cudarc::driver::sys::{self, CUevent_wait_flags, CUstream};
use cudarc::driver::{CudaEvent, result};

use crate::backend::BackendStream;
use crate::cuda::driver::failed;
use crate::cuda::memory::CudaMemory;
use crate::cuda::queue::{CONTEXT_EVENTS, GpuStream, while_nothing_records};
use crate::device::{Buffer, Device, Stream};
use crate::memory::{ALIGNMENT, Memory};
use ringforge_math::error::{Error, Result};

impl Buffer {
    /// The device address of the memory, valid while the buffer lives. `None` on a CPU and for an empty buffer.
    ///
    /// Before other code writes to a new buffer, call [`Buffer::assume_written`]. Until then the engine may still zero
    /// the memory, and work on dropped buffers may still use it.
    #[must_use]
    pub fn device_pointer(&self) -> Option<u64> {
        match &*self.memory {
            Memory::Cuda(memory) if memory.len() > 0 => Some(memory.address(0)),
            _ => None,
        }
    }

    /// Declares that other code will write all of the buffer. The buffer then counts as written, with contents of
    /// unknown type. The call waits for the engine's earlier work on the memory, so the other code need not.
    ///
    /// # Errors
    /// [`Error::Driver`] if that earlier work or a driver call fails.
    ///
    /// # Safety
    /// All of the memory must be written before the engine reads it.
    pub unsafe fn assume_written(&mut self) -> Result<()> {
        if let Memory::Cuda(memory) = &mut *self.memory {
            memory.assume_written()?;
        }
        self.written = true;
        self.content = None;
        Ok(())
    }
}

impl Device {
    /// A buffer in memory of this GPU that other code has allocated. That code must free the memory after the buffer
    /// was dropped. The buffer counts as written.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a CPU; [`Error::Alignment`] unless the address is a multiple of 16;
    /// [`Error::TooLarge`] if the address plus `bytes` overflows, or if the address is 0 and `bytes` is not;
    /// [`Error::Driver`] if a driver call fails.
    ///
    /// # Safety
    /// The address must be that of `bytes` bytes of initialised memory that this GPU can read and write, in its primary
    /// context. The bytes must stay valid while the buffer, or work on it, lives. Other code may use them only as the
    /// documentation of this module describes. Two buffers must not share bytes.
    pub unsafe fn buffer_from_raw(&self, pointer: u64, bytes: usize) -> Result<Buffer> {
        let stream = self.stream()?;
        let BackendStream::Cuda(queue) = stream.queue() else {
            let job = format!("a buffer in foreign memory on {self}");
            return Err(Error::Unsupported { job, why: "only GPUs have device memory".into() });
        };
        if !pointer.is_multiple_of(ALIGNMENT as u64) {
            return Err(Error::Alignment { what: "foreign memory", needed: ALIGNMENT });
        }
        let room = if pointer == 0 { 0 } else { usize::try_from(u64::MAX - pointer).unwrap_or(usize::MAX) };
        if bytes > room {
            return Err(Error::TooLarge { what: "foreign memory", limit: room, got: bytes });
        }
        Ok(Buffer::foreign(self, Memory::Cuda(CudaMemory::foreign(queue.gpu(), pointer, bytes)), bytes))
    }
}

impl Stream {
    /// The driver's handle of the stream (`CUstream`, the runtime's `cudaStream_t`), valid while the stream or a clone
    /// of it lives; `None` on a CPU. Work that other code enqueues on it is ordered with the engine's, and
    /// [`Stream::synchronize`] waits for it.
    #[must_use]
    pub fn raw_handle(&self) -> Option<*mut c_void> {
        match self.queue() {
            BackendStream::Cuda(queue) => Some(queue.stream().cu_stream().cast()),
            BackendStream::Immediate => None,
        }
    }

    /// Makes later work on this stream wait for all work enqueued so far on a stream of other code. The handle is the
    /// driver's: null or 1 for the legacy default stream, 2 for the calling thread's default stream.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a CPU; [`Error::Driver`] if a driver call fails.
    ///
    /// # Safety
    /// The handle must be that of a stream in the primary context of this stream's GPU.
    pub unsafe fn wait_for_raw(&self, handle: *mut c_void) -> Result<()> {
        let (queue, event) = self.new_event()?;
        // SAFETY: the event was just made in the context that is current; the caller guarantees that the handle is
        // valid.
        unsafe { result::event::record(event.cu_event(), handle as CUstream) }.map_err(failed("cuEventRecord"))?;
        queue.stream().wait(&event).map_err(failed("cuStreamWaitEvent"))
    }

    /// Makes later work on a stream of other code wait for all work on this stream so far. The handle has the same form
    /// as for [`Stream::wait_for_raw`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a CPU; [`Error::Driver`] if a driver call fails.
    ///
    /// # Safety
    /// The handle must be that of a stream in the primary context of this stream's GPU.
    pub unsafe fn raw_waits(&self, handle: *mut c_void) -> Result<()> {
        let (queue, event) = self.new_event()?;
        event.record(queue.stream()).map_err(failed("cuEventRecord"))?;
        let flags = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event was recorded in the context that is current; the caller guarantees that the handle is
        // valid.
        unsafe { result::stream::wait_event(handle as CUstream, event.cu_event(), flags) }
            .map_err(failed("cuStreamWaitEvent"))
    }

    /// Makes later work on this stream wait for all work started so far in the primary context of its GPU, on any
    /// stream. Use it before reusing memory of other code whose streams may no longer exist. Drivers before CUDA 12.5
    /// have no event for a whole context; with them, the calling thread waits.
    ///
    /// While [`Program::capture`](crate::Program::capture) captures a graph, the call waits until the capture has
    /// ended. While other code captures a graph in the same context, the driver fails both the call and that capture.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a CPU; [`Error::Driver`] if a driver call fails.
    pub fn wait_for_all(&self) -> Result<()> {
        let (queue, event) = self.new_event()?;
        let gpu = queue.gpu();
        if gpu.driver < CONTEXT_EVENTS {
            return while_nothing_records(|| gpu.context.synchronize()).map_err(failed("cuCtxSynchronize"));
        }
        // SAFETY: the context and the event are valid, and this driver version has the function.
        while_nothing_records(|| unsafe { sys::cuCtxRecordEvent(gpu.context.cu_ctx(), event.cu_event()) }.result())
            .map_err(failed("cuCtxRecordEvent"))?;
        queue.stream().wait(&event).map_err(failed("cuStreamWaitEvent"))
    }

    /// Makes the GPU's context current. Returns this stream as a [`GpuStream`], and a new event that is not recorded
    /// yet. Returns an error on a CPU.
    fn new_event(&self) -> Result<(&GpuStream, CudaEvent)> {
        let BackendStream::Cuda(queue) = self.queue() else {
            let job = format!("a raw stream on {}", self.device());
            return Err(Error::Unsupported { job, why: "only GPUs have raw streams".into() });
        };
        let event = queue.gpu().context.new_event(None).map_err(failed("cuEventCreate"))?;
        Ok((queue, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_has_no_raw_handles() {
        let device = Device::cpu();
        let stream = device.stream().unwrap();
        assert_eq!((stream.raw_handle(), stream.upload(&[1u32]).unwrap().device_pointer()), (None, None));
        // SAFETY: the call is rejected before it uses the address.
        let refused = unsafe { device.buffer_from_raw(256, 16) };
        assert!(matches!(refused, Err(Error::Unsupported { .. })));
        // SAFETY: the calls are rejected before they use the handle.
        let refused = unsafe { [stream.wait_for_raw(256 as *mut c_void), stream.raw_waits(256 as *mut c_void)] };
        assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Unsupported { .. }))));
    }
}
