//! Memory of a GPU that is registered with NCCL, so that other ranks (GPUs of the group) on the same host write to it
//! directly.

use core::ffi::c_void;
use core::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cuda::driver::Gpu;
use ringforge_math::error::{Error, Result};

use super::Raw;
use super::library::{Nccl, SUCCESS};

/// Memory that NCCL allocated and registered. Messages are received into it without an intermediate copy.
pub(crate) struct Shared {
    nccl: &'static Nccl,
    gpu: Arc<Gpu>,
    connection: Arc<Mutex<Option<Raw>>>,
    address: *mut c_void,
    bytes: usize,
    /// The handle of the memory's registration. Null if the communicator was aborted before the allocation.
    registration: *mut c_void,
    /// Whether a message to or from another rank has used the memory.
    met: AtomicBool,
}

// SAFETY: the address is not dereferenced, and NCCL lets any thread free memory.
unsafe impl Send for Shared {}
// SAFETY: the same as for `Send`; besides, nothing is changed through a shared reference.
unsafe impl Sync for Shared {}

impl Shared {
    /// Allocates memory and registers it with a communicator. Either all ranks must register their memory or none,
    /// because NCCL requires that both ends of a message are registered.
    pub(crate) fn new(
        nccl: &'static Nccl,
        gpu: &Arc<Gpu>,
        connection: &Arc<Mutex<Option<Raw>>>,
        bytes: usize,
    ) -> Result<Self> {
        gpu.bind()?;
        let mut address = ptr::null_mut();
        // SAFETY: the GPU's context is current; the address is written before the call returns.
        let mut allocate = || unsafe { (nccl.allocate)(&raw mut address, bytes) };
        if allocate() != SUCCESS {
            gpu.pool.release(&gpu.context);
            if allocate() != SUCCESS {
                return Err(Error::OutOfMemory { bytes });
            }
        }
        gpu.pool.held.fetch_add(bytes, Ordering::Relaxed);
        let (gpu, connection) = (gpu.clone(), connection.clone());
        let mut this =
            Self { nccl, gpu, connection, address, bytes, registration: ptr::null_mut(), met: AtomicBool::new(false) };
        if let Some(Raw(handle)) = *this.connection.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: the memory was just allocated and stays until `drop` has deregistered it.
            nccl.check("ncclCommRegister", unsafe {
                (nccl.register)(handle, address, bytes, &raw mut this.registration)
            })?;
        }
        Ok(this)
    }

    /// The device address.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// Returns true if a message to or from another rank uses this memory for the first time, and records that it has
    /// been used.
    pub(crate) fn meets(&self) -> bool {
        !self.met.swap(true, Ordering::Relaxed)
    }

    /// The GPU that holds the memory.
    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }
}

/// Deregisters and frees the memory. The owning `CudaMemory` has already waited for all users of the memory.
impl Drop for Shared {
    fn drop(&mut self) {
        let failed = self.gpu.bind().and_then(|()| {
            // an aborted communicator has no registrations any more
            if let Some(Raw(handle)) = *self.connection.lock().unwrap_or_else(PoisonError::into_inner)
                && !self.registration.is_null()
            {
                // SAFETY: the memory was registered with this communicator.
                self.nccl.check("ncclCommDeregister", unsafe { (self.nccl.deregister)(handle, self.registration) })?;
            }
            // SAFETY: NCCL allocated the memory, and nothing uses it.
            self.nccl.check("ncclMemFree", unsafe { (self.nccl.free)(self.address) })
        });
        match failed {
            Ok(()) => _ = self.gpu.pool.held.fetch_sub(self.bytes, Ordering::Relaxed),
            Err(error) => log::warn!("device memory was not freed: {error}"),
        }
    }
}
