//! Arrays on the engine's device, and their export by DLPack.

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

/// An array on the engine's device. Work that writes it may still be running. The Python package wraps it with the
/// public methods.
#[pyclass(frozen, module = "pyringforge._native", subclass)]
#[derive(Debug)]
pub(crate) struct DeviceArray {
    buffer: Arc<Buffer>,
    /// The stream on which the array is computed.
    stream: Stream,
    /// The length of each dimension, including the words of wide residues.
    #[pyo3(get)]
    shape: Vec<i64>,
    bits: u8,
}

impl DeviceArray {
    pub(crate) fn new(buffer: Buffer, stream: Stream, shape: Vec<i64>, width: Width) -> Self {
        // residues wider than 64 bits are stored as 64-bit words
        let bits = 8 * width.bytes().min(8) as u8;
        Self { buffer: Arc::new(buffer), stream, shape, bits }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}

#[pymethods]
impl DeviceArray {
    /// Number of bits of one number.
    #[getter]
    fn bits(&self) -> u8 {
        self.bits
    }

    /// The size of the array in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.buffer.len()
    }

    /// Copies the array to host memory.
    fn read(&self, py: Python<'_>, mut to: PyReadwriteArray1<'_, u8>) -> PyResult<()> {
        let to = to.as_slice_mut()?;
        py.detach(|| self.stream.read(&self.buffer, to)).map_err(|error| exception(&error))
    }

    /// Exports the array in a DLPack capsule, for the GPU with this ordinal. The stream with this handle waits for the
    /// work that writes the array; without a handle, no stream does.
    fn capsule(&self, py: Python<'_>, ordinal: i32, stream: Option<usize>, versioned: bool) -> PyResult<Py<PyAny>> {
        let Some(address) = self.buffer.device_pointer().or((self.buffer.is_empty()).then_some(0)) else {
            return Err(PyBufferError::new_err("an array on the CPU cannot be exported by DLPack: use numpy()"));
        };
        if let Some(stream) = stream {
            // SAFETY: the consumer guarantees that this is a stream of the GPU.
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

/// An array that is exported by DLPack and held by a consumer.
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
        // SAFETY: the interpreter is attached, and the name is static. The destructor frees a tensor that no consumer
        // took.
        let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(dropped::<M>)) };
        if capsule.is_null() {
            // SAFETY: no capsule holds the tensor, so this is its only owner.
            unsafe { give_back(managed) };
        }
        // SAFETY: the pointer is a new reference, or null with the error set.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind)
    }

    /// Makes the next use of the memory wait for the consumer. For this the array's stream waits for all work in the
    /// context. The consumer may have used streams that it did not name, or destroyed the one that it named.
    fn finish(self) -> ringforge::Result<()> {
        let DeviceArray { buffer, stream, .. } = &self.array;
        stream.wait_for_all()?;
        // enqueue a copy from the memory after that wait, so that later users of the memory wait for the copy
        let bytes = buffer.len().min(16);
        let mut behind = stream.device().buffer(bytes)?;
        stream.copy(buffer.slice(0..bytes)?, &mut behind)
    }
}

/// DLPack's deleter: called by the consumer, on any thread, when it no longer needs the tensor.
unsafe extern "C" fn give_back<M: Managed>(managed: *mut M) {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: `capsule` made the structure, and the consumer gives it back only once.
        let lent = unsafe {
            let managed = Box::from_raw(managed);
            Box::from_raw(managed.context().cast::<LentOut>())
        };
        lent.finish()
    }));
    // errors cannot be reported here, and a GPU that does not respond will not run later work on the memory either
    let _ = ended;
}

/// The capsule's destructor: frees the tensor if no consumer took it.
unsafe extern "C" fn dropped<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this for a capsule, which holds a tensor as long as its name is `M::NAME`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            give_back(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast::<M>());
        }
    }
}
