//! The NCCL library, and memory that is registered with it.

pub(crate) mod library;
mod shared;

use ringforge_math::error::Result;

use library::{Handle, Nccl};

pub use library::UniqueId;
pub(crate) use shared::Shared;

/// A communicator of the library.
pub(crate) struct Raw(pub(crate) Handle);

// SAFETY: the library lets any thread use a communicator, one at a time.
unsafe impl Send for Raw {}

impl UniqueId {
    /// Creates a new id, which all ranks must be given.
    #[doc(hidden)]
    pub fn new() -> Result<Self> {
        let (nccl, mut id) = (Nccl::get()?, Self([0; 128]));
        // SAFETY: writes the bytes.
        nccl.check("ncclGetUniqueId", unsafe { (nccl.unique_id)(&raw mut id) })?;
        Ok(id)
    }
}
