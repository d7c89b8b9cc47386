//! The NCCL library, and memory that is registered with it.

pub(crate) mod library;
mod shared;

use ringforge_math::error::Result;

use library::{Handle, Nccl};

pub use library::UniqueId;
pub(crate) use shared::Shared;

/// An NCCL communicator.
pub(crate) struct Raw(pub(crate) Handle);

// SAFETY: NCCL lets any thread use a communicator, if only one thread does so at a time.
unsafe impl Send for Raw {}

impl UniqueId {
    /// Creates the id of a new group. All ranks of the group must connect with the same id.
    #[doc(hidden)]
    pub fn new() -> Result<Self> {
        let (nccl, mut id) = (Nccl::get()?, Self([0; 128]));
        // SAFETY: the call only writes the bytes of the id.
        nccl.check("ncclGetUniqueId", unsafe { (nccl.unique_id)(&raw mut id) })?;
        Ok(id)
    }
}
