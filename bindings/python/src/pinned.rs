//! Page-locked host memory as arrays, for the fastest copies to and from a GPU.

#![allow(unsafe_code)]

use numpy::{PyArray1, ndarray};
use pyo3::prelude::*;
use ringforge::PinnedBuffer;

use crate::engine::Engine;
use crate::error::exception;

/// The owner of pinned memory, kept alive by the array that uses the memory.
#[pyclass(frozen, module = "pyringforge._native")]
struct Pinned {
    _memory: PinnedBuffer,
}

/// Allocates a flat array of `bytes` zero bytes in pinned memory. The memory is wiped when its last reference is
/// dropped.
#[pyfunction]
pub(crate) fn pinned<'py>(py: Python<'py>, engine: &Engine, bytes: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let memory = py.detach(|| engine.engine.device().pinned(bytes));
    let mut memory = memory.map_err(|error| exception(&error))?;
    let (pointer, len) = (memory.as_mut_ptr(), memory.len());
    let owner = Bound::new(py, Pinned { _memory: memory })?;
    // SAFETY: the memory has `len` bytes. Its sole owner lives as long as the array and never accesses the memory.
    Ok(unsafe {
        let view = ndarray::ArrayView1::from_shape_ptr(len, pointer.cast_const());
        PyArray1::borrow_from_array(&view, owner.into_any())
    })
}
