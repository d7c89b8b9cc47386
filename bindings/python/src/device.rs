//! Arrays of the engine's on its device, and how they are handed to others by DLPack.

#![allow(unsafe_code)]

use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use numpy::PyReadwriteArray1;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::{Py, ffi};
use ringforge::{Buffer, Stream, Width};

use crate::dlpack::{self, CUDA, DataType, DlTensor, Managed, UNSIGNED, Unversioned, Versioned};
use crate::error::exception;

/// An array on the engine's device, which work under way may still be writing. The package gives it its methods for users.
#[pyclass(frozen, module = "pyringforge._native", subclass)]
#[derive(Debug)]
pub(crate) struct DeviceArray {
    buffer: Arc<Buffer>,
    /// The stream of the work that makes it.
    stream: Stream,
    /// Numbers along each dimension, the words of wide residues included.
    #[pyo3(get)]
    shape: Vec<i64>,
    bits: u8,
}

impl DeviceArray {
    pub(crate) fn new(buffer: Buffer, stream: Stream, shape: Vec<i64>, width: Width) -> Self {
        // wide residues are several words of 64 bits
        let bits = 8 * width.bytes().min(8) as u8;
        Self { buffer: Arc::new(buffer), stream, shape, bits }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}

#[pymethods]
impl DeviceArray {
    /// Bits of a number.
    #[getter]
    fn bits(&self) -> u8 {
        self.bits
    }

    /// The size in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.buffer.len()
    }

    /// Copies it to host memory.
    fn read(&self, py: Python<'_>, mut to: PyReadwriteArray1<'_, u8>) -> PyResult<()> {
        let to = to.as_slice_mut()?;
        py.detach(|| self.stream.read(&self.buffer, to)).map_err(|error| exception(&error))
    }

    /// A capsule of this ordinal's GPU, for work on the stream with this handle; without, for any work.
    fn capsule(&self, py: Python<'_>, ordinal: i32, stream: Option<usize>, versioned: bool) -> PyResult<Py<PyAny>> {
        let Some(address) = self.buffer.device_pointer().or((self.buffer.is_empty()).then_some(0)) else {
            return Err(PyBufferError::new_err("an array on the CPU is handed over by numpy(), not by DLPack"));
        };
        if let Some(stream) = stream {
            // SAFETY: the consumer says that this is a stream of the GPU's.
            unsafe { self.stream.raw_waits(handle(stream)) }.map_err(|error| exception(&error))?;
        }
        let lent = LentOut { array: self.share(), shape: self.shape.clone() };
        if versioned {
            lent.capsule::<Versioned>(py, address, ordinal)
        } else {
            lent.capsule::<Unversioned>(py, address, ordinal)
        }
    }
}

impl DeviceArray {
    fn share(&self) -> Self {
        let Self { buffer, stream, shape, bits } = self;
        Self { buffer: buffer.clone(), stream: stream.clone(), shape: shape.clone(), bits: *bits }
    }
}

fn handle(stream: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(stream)
}

/// What a consumer holds.
struct LentOut {
    array: DeviceArray,
    shape: Vec<i64>,
}

impl LentOut {
    fn capsule<M: Managed>(self, py: Python<'_>, address: u64, ordinal: i32) -> PyResult<Py<PyAny>> {
        let bits = self.array.bits;
        let mut lent = Box::new(self);
        let tensor = DlTensor {
            data: core::ptr::without_provenance_mut(address as usize),
            device: dlpack::Device { kind: CUDA, ordinal },
            ndim: lent.shape.len() as i32,
            dtype: DataType { code: UNSIGNED, bits, lanes: 1 },
            shape: lent.shape.as_mut_ptr(),
            strides: core::ptr::null_mut(),
            byte_offset: 0,
        };
        let managed = Box::into_raw(Box::new(M::new(tensor, Box::into_raw(lent).cast(), give_back::<M>)));
        // SAFETY: the interpreter is attached, the name lives for ever, and the destructor frees what nobody took.
        let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(dropped::<M>)) };
        if capsule.is_null() {
            // SAFETY: nobody else has it.
            unsafe { give_back(managed) };
        }
        // SAFETY: a new reference, or null with the error set.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind)
    }

    /// Has whoever uses the memory next wait for the consumer: for all that is at work, since the stream that it named may be
    /// gone, and be no more than one of those it works on.
    fn finish(self) -> ringforge::Result<()> {
        let DeviceArray { buffer, stream, .. } = &self.array;
        stream.wait_for_all()?;
        // a use of the memory behind that, which the engine remembers
        let bytes = buffer.len().min(16);
        let mut behind = stream.device().buffer(bytes)?;
        stream.copy(buffer.slice(0..bytes)?, &mut behind)
    }
}

/// Called by the consumer, on any thread, when it needs the tensor no longer.
unsafe extern "C" fn give_back<M: Managed>(managed: *mut M) {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: made by `capsule`, and given back once.
        let lent = unsafe {
            let managed = Box::from_raw(managed);
            Box::from_raw(managed.context().cast::<LentOut>())
        };
        lent.finish()
    }));
    // nobody is there to hear of it; a GPU that does not answer will not run anything on the memory either
    let _ = ended;
}

/// Called when a capsule goes: what nobody has taken out of it goes as well.
unsafe extern "C" fn dropped<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this for a capsule, which has a tensor as long as it has this name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            give_back(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast::<M>());
        }
    }
}
