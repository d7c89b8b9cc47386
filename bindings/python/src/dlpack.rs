//! The structures and capsule names of DLPack 1.0, for exchanging tensors.

use core::ffi::{CStr, c_void};

/// DLPack's device type of CUDA memory.
pub(crate) const CUDA: i32 = 2;
/// DLPack's type code of unsigned integers.
pub(crate) const UNSIGNED: u8 = 1;
/// DLPack's flag of a tensor that must not be written.
pub(crate) const READ_ONLY: u64 = 1;
/// The DLPack version that defines these structures.
pub(crate) const VERSION: Version = Version { major: 1, minor: 0 };

/// The device of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Device {
    pub(crate) kind: i32,
    pub(crate) ordinal: i32,
}

/// The type of a tensor's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct DataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

/// A tensor. Null strides mean that the tensor is contiguous.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct DlTensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: Device,
    pub(crate) ndim: i32,
    pub(crate) dtype: DataType,
    pub(crate) shape: *mut i64,
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

/// A tensor with its owner's context and deleter, as exchanged before DLPack version 1.
#[repr(C)]
pub(crate) struct Unversioned {
    pub(crate) tensor: DlTensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// The DLPack version of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// A tensor with its owner's context and deleter, as exchanged since DLPack version 1.
#[repr(C)]
pub(crate) struct Versioned {
    pub(crate) version: Version,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Self)>,
    pub(crate) flags: u64,
    pub(crate) tensor: DlTensor,
}

/// A tensor with its owner's context and deleter: [`Unversioned`] or [`Versioned`].
pub(crate) trait Managed {
    /// The name of a capsule that still holds the tensor.
    const NAME: &'static CStr;
    /// The name of a capsule after a consumer took the tensor.
    const USED: &'static CStr;

    fn new(tensor: DlTensor, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self)) -> Self;
    fn tensor(&self) -> &DlTensor;
    fn context(&self) -> *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Managed for Unversioned {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(tensor: DlTensor, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self)) -> Self {
        Self { tensor, context, deleter: Some(deleter) }
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(tensor: DlTensor, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self)) -> Self {
        Self { version: VERSION, context, deleter: Some(deleter), flags: 0, tensor }
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}
