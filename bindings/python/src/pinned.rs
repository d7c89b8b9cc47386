//! Host memory that copies to and from a GPU go fastest with, as arrays.

#![allow(unsafe_code)]

use numpy::{PyArray1, ndarray};
use pyo3::prelude::*;
use ringforge::PinnedBuffer;

use crate::engine::Engine;
use crate::error::exception;

/// What an array in pinned memory keeps alive.
#[pyclass(frozen, module = "pyringforge._native")]
struct Pinned {
    _memory: PinnedBuffer,
}

/// A flat array of so many bytes in pinned memory, all zero, which is wiped when nothing refers to it any more.
#[pyfunction]
pub(crate) fn pinned<'py>(py: Python<'py>, engine: &Engine, bytes: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let memory = py.detach(|| engine.engine.device().pinned(bytes));
    let mut memory = memory.map_err(|error| exception(&error))?;
    let (pointer, len) = (memory.as_mut_ptr(), memory.len());
    let owner = Bound::new(py, Pinned { _memory: memory })?;
    // SAFETY: the memory has the length, and its owner, which alone keeps it and never touches it, lives as long as the array.
    Ok(unsafe {
        let view = ndarray::ArrayView1::from_shape_ptr(len, pointer.cast_const());
        PyArray1::borrow_from_array(&view, owner.into_any())
    })
}
