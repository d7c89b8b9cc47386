//! Tensors of other libraries, imported by DLPack.

#![allow(unsafe_code)]

use core::ptr::NonNull;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{PyTypeInfo, ffi};
use ringforge_bindings::Lent;

use crate::dlpack::{DlTensor, Managed, READ_ONLY, Unversioned, VERSION, Versioned};
use crate::error::named;

/// A tensor of another library. On drop, the library's deleter is called.
#[pyclass(frozen, module = "pyringforge._native")]
pub(crate) struct Tensor {
    _owner: Owner,
    lent: Lent,
    /// Device type and ordinal, as in DLPack.
    #[pyo3(get)]
    device: (i32, i32),
    /// Type code, bits and lanes, as in DLPack.
    #[pyo3(get)]
    dtype: (u8, u8, u16),
    /// The length of each dimension.
    #[pyo3(get)]
    shape: Vec<i64>,
    /// True if the numbers are contiguous, with the last dimension innermost.
    #[pyo3(get)]
    contiguous: bool,
    /// True if the producer forbids writing.
    #[pyo3(get)]
    read_only: bool,
}

/// The DLPack structure taken from a capsule, with its deleter.
enum Owner {
    Unversioned(NonNull<Unversioned>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: DLPack's deleters may be called on any thread, and the pointers have no other use.
unsafe impl Send for Owner {}
// SAFETY: DLPack's deleters may be called on any thread, and the pointers have no other use.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        unsafe fn release<M: Managed>(managed: NonNull<M>) {
            // SAFETY: the caller owns the structure, and gives it up now.
            unsafe {
                if let Some(deleter) = managed.as_ref().deleter() {
                    deleter(managed.as_ptr());
                }
            }
        }
        // SAFETY: the structure was taken from its capsule, and is dropped only once.
        unsafe {
            match self {
                Self::Unversioned(managed) => release(*managed),
                Self::Versioned(managed) => release(*managed),
            }
        }
    }
}

/// Takes the DLPack structure from a capsule that holds an `M`. Returns `None` if the capsule holds another type.
fn take<M: Managed>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<NonNull<M>>> {
    let raw = capsule.as_ptr();
    // SAFETY: the interpreter is attached, the object is a capsule, and the names are static. By DLPack, a capsule with
    // the name `M::NAME` holds an `M`, and renaming the capsule transfers ownership.
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

/// Returns the shape of a tensor, and true if the tensor is contiguous.
///
/// # Safety
/// `shape` and `strides` must be valid as DLPack requires: null, or `ndim` numbers each.
unsafe fn layout(tensor: &DlTensor) -> (Vec<i64>, bool) {
    let count = usize::try_from(tensor.ndim).unwrap_or(0);
    let list = |numbers: *mut i64| match NonNull::new(numbers) {
        // SAFETY: the caller guarantees `count` numbers.
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
    /// Takes the tensor from a capsule that the producer's `__dlpack__` returned.
    #[new]
    fn new(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !PyCapsule::is_exact_type_of(capsule) {
            return Err(named("ArgumentError", "__dlpack__ returned no capsule".into()));
        }
        let capsule = capsule.cast::<PyCapsule>()?;
        let (owner, tensor, flags) = if let Some(managed) = take::<Versioned>(capsule)? {
            let owner = Owner::Versioned(managed);
            // SAFETY: the structure was taken above, and the version is the first field in any layout.
            let managed = unsafe { managed.as_ref() };
            if managed.version.major != VERSION.major {
                return Err(PyBufferError::new_err(format!(
                    "expected DLPack version {}, got {}",
                    VERSION.major, managed.version.major
                )));
            }
            (owner, managed.tensor(), managed.flags)
        } else if let Some(managed) = take::<Unversioned>(capsule)? {
            // SAFETY: the structure was taken above.
            (Owner::Unversioned(managed), unsafe { managed.as_ref() }.tensor(), 0)
        } else {
            return Err(named(
                "ArgumentError",
                "the capsule holds no DLPack tensor, or its tensor was already taken".into(),
            ));
        };
        // SAFETY: the producer made the tensor by DLPack's rules.
        let (shape, contiguous) = unsafe { layout(tensor) };
        let numbers = shape.iter().try_fold(1usize, |count, size| count.checked_mul(usize::try_from(*size).ok()?));
        let size = usize::from(tensor.dtype.bits).div_ceil(8) * usize::from(tensor.dtype.lanes);
        let Some(bytes) = numbers.and_then(|numbers| numbers.checked_mul(size)) else {
            return Err(named("ArgumentError", "the tensor is too large to address".into()));
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

    /// The device address of the first number.
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
