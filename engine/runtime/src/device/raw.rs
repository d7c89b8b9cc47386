//! Raw handles for interoperation with other CUDA code: memory by its address, streams by the driver's handle.
//!
//! The engine works in the primary context of its GPU, as the CUDA runtime does, so pointers and streams are valid on
//! both sides. The engine cannot see *when* other code uses memory. Therefore:
//!
//! - Other code may use a buffer's memory once the engine's work on it is done: after [`Stream::synchronize`] on every
//!   stream that used the buffer, or when enqueued on the [handle](Stream::raw_handle) of such a stream.
//! - The engine may use the memory again once the other code is done. Enqueue the other code on the handle of the
//!   stream that uses the buffer next, or wait for it.
//! - Between a stream of other code and one of the engine, [`Stream::wait_for_raw`] and [`Stream::raw_waits`] establish
//!   the order without blocking a thread.
//! - A buffer may be dropped once no other code uses it, and foreign memory freed once no stream uses it.

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
    /// To write to a new buffer, call [`Buffer::assume_written`] first. Until then the engine may still zero the
    /// memory, and work on dropped buffers may still use it.
    #[must_use]
    pub fn device_pointer(&self) -> Option<u64> {
        match &*self.memory {
            Memory::Cuda(memory) if memory.len() > 0 => Some(memory.address(0)),
            _ => None,
        }
    }

    /// Declares that other code will write all of the buffer. The buffer then counts as written, with contents of
    /// unknown type. Waits for the engine's earlier work on the memory, so that the other code need not.
    ///
    /// # Errors
    /// [`Error::Driver`].
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
    /// A buffer in memory of this GPU that other code allocated and frees after the buffer is gone. It counts as
    /// written.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a CPU; [`Error::Alignment`] unless the address is a multiple of 16;
    /// [`Error::TooLarge`] if the address plus `bytes` overflows, or if the address is 0 and `bytes` is not.
    ///
    /// # Safety
    /// The address must be that of `bytes` bytes of initialised memory that this GPU can read and write, in its primary
    /// context. They must stay valid while the buffer, or work on it, lives. Other code may use them only as this
    /// module says. Two buffers must not share bytes.
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
    /// [`Error::Unsupported`] on a CPU; [`Error::Driver`].
    ///
    /// # Safety
    /// The handle must be that of a stream in the primary context of this stream's GPU.
    pub unsafe fn wait_for_raw(&self, handle: *mut c_void) -> Result<()> {
        let (queue, event) = self.new_event()?;
        // SAFETY: the event was just made in the context that is current; the caller answers for the stream.
        unsafe { result::event::record(event.cu_event(), handle as CUstream) }.map_err(failed("cuEventRecord"))?;
        queue.stream().wait(&event).map_err(failed("cuStreamWaitEvent"))
    }

    /// Makes later work on a stream of other code wait for all work on this stream so far. The handle is as for
    /// [`Stream::wait_for_raw`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a CPU; [`Error::Driver`].
    ///
    /// # Safety
    /// As [`Stream::wait_for_raw`].
    pub unsafe fn raw_waits(&self, handle: *mut c_void) -> Result<()> {
        let (queue, event) = self.new_event()?;
        event.record(queue.stream()).map_err(failed("cuEventRecord"))?;
        let flags = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event was recorded in the context that is current; the caller answers for the stream.
        unsafe { result::stream::wait_event(handle as CUstream, event.cu_event(), flags) }
            .map_err(failed("cuStreamWaitEvent"))
    }

    /// Makes later work on this stream wait for all work started so far in the primary context of its GPU, on any
    /// stream. Use it before reusing memory of other code whose streams may be gone. Drivers before CUDA 12.5 have no
    /// such event; there the calling thread waits.
    ///
    /// While [`Program::capture`](crate::Program::capture) records a graph, the call waits until the recording is done.
    /// While other code records a graph in the same context, the driver fails both the call and that recording.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a CPU; [`Error::Driver`].
    pub fn wait_for_all(&self) -> Result<()> {
        let (queue, event) = self.new_event()?;
        let gpu = queue.gpu();
        if gpu.driver < CONTEXT_EVENTS {
            return while_nothing_records(|| gpu.context.synchronize()).map_err(failed("cuCtxSynchronize"));
        }
        // SAFETY: the context and the event are valid, and the driver has this call.
        while_nothing_records(|| unsafe { sys::cuCtxRecordEvent(gpu.context.cu_ctx(), event.cu_event()) }.result())
            .map_err(failed("cuCtxRecordEvent"))?;
        queue.stream().wait(&event).map_err(failed("cuStreamWaitEvent"))
    }

    /// A new event, not yet recorded, made with the GPU's context current.
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
        // SAFETY: refused before anything is done with the address.
        let refused = unsafe { device.buffer_from_raw(256, 16) };
        assert!(matches!(refused, Err(Error::Unsupported { .. })));
        // SAFETY: refused before anything is done with the handle.
        let refused = unsafe { [stream.wait_for_raw(256 as *mut c_void), stream.raw_waits(256 as *mut c_void)] };
        assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Unsupported { .. }))));
    }
}
