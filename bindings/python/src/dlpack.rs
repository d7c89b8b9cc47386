//! What DLPack 1.0 lays down: the structures that tensors are handed over in, and the capsules around them.

use core::ffi::{CStr, c_void};

/// Memory of a GPU.
pub(crate) const CUDA: i32 = 2;
/// Whole numbers without a sign.
pub(crate) const UNSIGNED: u8 = 1;
/// The flag of a tensor that must not be written to.
pub(crate) const READ_ONLY: u64 = 1;
/// The version whose structures these are.
pub(crate) const VERSION: Version = Version { major: 1, minor: 0 };

/// Where a tensor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Device {
    pub(crate) kind: i32,
    pub(crate) ordinal: i32,
}

/// What its numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct DataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

/// A tensor. Null as strides means that it has no gaps.
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

/// A tensor as it was handed over before version 1.
#[repr(C)]
pub(crate) struct Unversioned {
    pub(crate) tensor: DlTensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// The version of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// A tensor as it is handed over since version 1.
#[repr(C)]
pub(crate) struct Versioned {
    pub(crate) version: Version,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Self)>,
    pub(crate) flags: u64,
    pub(crate) tensor: DlTensor,
}

/// What a tensor is handed over in.
pub(crate) trait Managed {
    /// The name of a capsule that nobody has taken the tensor out of.
    const NAME: &'static CStr;
    /// Its name afterwards.
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
