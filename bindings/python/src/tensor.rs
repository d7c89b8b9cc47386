//! Tensors of others, taken in by DLPack.

#![allow(unsafe_code)]

use core::ptr::NonNull;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{PyTypeInfo, ffi};
use ringforge_bindings::Lent;

use crate::dlpack::{DlTensor, Managed, READ_ONLY, Unversioned, VERSION, Versioned};
use crate::error::named;

/// A tensor of another library's, which is told that it is not used any more when this goes.
#[pyclass(frozen, module = "pyringforge._native")]
pub(crate) struct Tensor {
    _owner: Owner,
    lent: Lent,
    /// Kind and ordinal, in DLPack's numbers.
    #[pyo3(get)]
    device: (i32, i32),
    /// Code, bits and lanes, in DLPack's numbers.
    #[pyo3(get)]
    dtype: (u8, u8, u16),
    /// Numbers along each dimension.
    #[pyo3(get)]
    shape: Vec<i64>,
    /// Whether they lie one after another, the last dimension innermost.
    #[pyo3(get)]
    contiguous: bool,
    /// Whether its producer forbids writing.
    #[pyo3(get)]
    read_only: bool,
}

/// What a capsule held.
enum Owner {
    Unversioned(NonNull<Unversioned>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: DLPack's deleters may be called on any thread, and nothing else is done with the pointers.
unsafe impl Send for Owner {}
// SAFETY: likewise.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        unsafe fn release<M: Managed>(managed: NonNull<M>) {
            // SAFETY: the caller owns what the capsule held, and lets go of it now.
            unsafe {
                if let Some(deleter) = managed.as_ref().deleter() {
                    deleter(managed.as_ptr());
                }
            }
        }
        // SAFETY: it was taken out of its capsule, and goes once.
        unsafe {
            match self {
                Self::Unversioned(managed) => release(*managed),
                Self::Versioned(managed) => release(*managed),
            }
        }
    }
}

/// Takes what a capsule of this kind holds out of it; none of one of another kind.
fn take<M: Managed>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<NonNull<M>>> {
    let raw = capsule.as_ptr();
    // SAFETY: the interpreter is attached, the object is a capsule, and the names live for ever. A capsule of this name holds
    // such a structure, says DLPack; who renames it owns that.
    unsafe {
        if ffi::PyCapsule_IsValid(raw, M::NAME.as_ptr()) == 0 {
            return Ok(None);
        }
        let managed = NonNull::new(ffi::PyCapsule_GetPointer(raw, M::NAME.as_ptr()).cast());
        if managed.is_none() || ffi::PyCapsule_SetName(raw, M::USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(managed)
    }
}

/// The dimensions of a tensor, and whether its numbers have no gaps.
///
/// # Safety
/// Shape and strides must be as DLPack says.
unsafe fn layout(tensor: &DlTensor) -> (Vec<i64>, bool) {
    let count = usize::try_from(tensor.ndim).unwrap_or(0);
    let list = |numbers: *mut i64| match NonNull::new(numbers) {
        // SAFETY: so many numbers are there, says the caller.
        Some(numbers) if count > 0 => unsafe { core::slice::from_raw_parts(numbers.as_ptr(), count) },
        _ => &[],
    };
    let (shape, strides) = (list(tensor.shape), list(tensor.strides));
    let mut wanted = 1i64;
    let contiguous = strides.is_empty()
        || shape.contains(&0)
        || shape.iter().zip(strides).rev().all(|(size, stride)| {
            let fits = *size == 1 || *stride == wanted;
            wanted = wanted.saturating_mul(*size);
            fits
        });
    (shape.to_vec(), contiguous)
}

#[pymethods]
impl Tensor {
    /// What a capsule of `__dlpack__` holds.
    #[new]
    fn new(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !PyCapsule::is_exact_type_of(capsule) {
            return Err(named("ArgumentError", "__dlpack__ gave no capsule".into()));
        }
        let capsule = capsule.cast::<PyCapsule>()?;
        let (owner, tensor, flags) = if let Some(managed) = take::<Versioned>(capsule)? {
            let owner = Owner::Versioned(managed);
            // SAFETY: it is ours now, and the version comes first whatever the rest is.
            let managed = unsafe { managed.as_ref() };
            if managed.version.major != VERSION.major {
                return Err(PyBufferError::new_err(format!("DLPack {} is too new", managed.version.major)));
            }
            (owner, managed.tensor(), managed.flags)
        } else if let Some(managed) = take::<Unversioned>(capsule)? {
            // SAFETY: it is ours now.
            (Owner::Unversioned(managed), unsafe { managed.as_ref() }.tensor(), 0)
        } else {
            return Err(named("ArgumentError", "the capsule holds no tensor, or it was taken out already".into()));
        };
        // SAFETY: the tensor is as its producer made it.
        let (shape, contiguous) = unsafe { layout(tensor) };
        let numbers = shape.iter().try_fold(1usize, |count, size| count.checked_mul(usize::try_from(*size).ok()?));
        let size = usize::from(tensor.dtype.bits).div_ceil(8) * usize::from(tensor.dtype.lanes);
        let Some(bytes) = numbers.and_then(|numbers| numbers.checked_mul(size)) else {
            return Err(named("ArgumentError", "the tensor is too large to be addressed".into()));
        };
        let address = (tensor.data.addr() as u64).wrapping_add(tensor.byte_offset);
        Ok(Self {
            lent: Lent { address, bytes },
            device: (tensor.device.kind, tensor.device.ordinal),
            dtype: (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
            shape,
            contiguous,
            read_only: flags & READ_ONLY != 0,
            _owner: owner,
        })
    }

    /// Where the numbers begin.
    #[getter]
    fn address(&self) -> u64 {
        self.lent.address
    }
}

impl Tensor {
    pub(crate) fn lent(&self) -> Lent {
        self.lent
    }
}
